package template

import "testing"

// TestLocalFunctions renders a template for each function without dependencies,
// except sockaddr, whose results depend on the machine.
func TestLocalFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, template, want string }{
		{"add", `{{ add 1 2 }} {{ 1.5 | add 2 }}`, "3 3.5"},
		{"subtract", `{{ 5 | subtract 2 }}`, "3"},
		{"multiply", `{{ 6 | multiply 2 }}`, "12"},
		{"divide", `{{ 6 | divide 2 }}`, "3"},
		{"modulo", `{{ 5 | modulo 2 }}`, "1"},
		{"minimum", `{{ 5 | minimum 2 }}`, "2"},
		{"maximum", `{{ 5 | maximum 2 }}`, "5"},
		{"base64Encode", `{{ base64Encode "a?>b" }}`, "YT8+Yg=="},
		{"base64Decode", `{{ base64Decode "YT8+Yg==" }}`, "a?>b"},
		{"base64URLEncode", `{{ base64URLEncode "a?>b" }}`, "YT8-Yg=="},
		{"base64URLDecode", `{{ base64URLDecode "YT8-Yg==" }}`, "a?>b"},
		{"byKey", `{{ range $dir, $pairs := tree "app" | byKey }}{{ $dir }}:{{ range $key, $p := $pairs }}{{ $key }}={{ $p.Value }} {{ end }}{{ end }}`, "deep:x=y "},
		{"byPort", `{{ range $port, $s := service "db" | byPort }}{{ $port }}={{ len $s }} {{ end }}`, "5432=1 5433=1 "},
		{"byTag", `{{ range $tag, $s := service "db" | byTag }}{{ $tag }}={{ len $s }} {{ end }}`, "b=1 primary=1 "},
		{"byMeta", `{{ range $meta, $s := service "db" | byMeta "zone" }}{{ $meta }}={{ len $s }} {{ end }}`, "_no_zone_=1 z=1 "},
		{"contains", `{{ contains "b" (split "," "a,b") }} {{ split "," "a,b" | contains "c" }}`, "true false"},
		{"containsAll", `{{ containsAll (sprig_list "a" "b") (sprig_list "a" "b" "c") }}`, "true"},
		{"containsAny", `{{ containsAny (sprig_list "x" "b") (sprig_list "a" "b" "c") }}`, "true"},
		{"containsNone", `{{ containsNone (sprig_list "x" "y") (sprig_list "a" "b" "c") }}`, "true"},
		{"containsNotAll", `{{ containsNotAll (sprig_list "a" "y") (sprig_list "a" "b" "c") }}`, "true"},
		{"in", `{{ in (split "," "a,b") "b" }} {{ in "abc" "d" }}`, "true false"},
		{"explode", `{{ with tree "app" | explode }}{{ .deep.x }}{{ end }}`, "y"},
		{"explodeMap", `{{ with parseJSON "{\"a/b\":1}" | explodeMap }}{{ .a.b }}{{ end }}`, "1"},
		{"mergeMap", `{{ $a := parseJSON "{\"x\":1}" }}{{ $b := parseJSON "{\"x\":2,\"y\":3}" }}{{ $b | mergeMap $a | toJSON }}`, `{"x":1,"y":3}`},
		{"mergeMapWithOverride", `{{ $a := parseJSON "{\"x\":1}" }}{{ $b := parseJSON "{\"x\":2,\"y\":3}" }}{{ $b | mergeMapWithOverride $a | toJSON }}`, `{"x":2,"y":3}`},
		{"indent", `{{ "a\nb" | indent 2 }}`, "  a\n  b"},
		{"loop", `{{ range loop 2 }}{{ . }}{{ end }} {{ range loop 3 5 }}{{ . }}{{ end }}`, "01 34"},
		{"loop over other types", `{{ range loop (parseUint "2") }}{{ . }}{{ end }} {{ range loop "1" "3" }}{{ . }}{{ end }} {{ range loop "" }}x{{ end }}`, "01 12 "},
		{"indent by nothing", `{{ "a\nb" | indent 0 }}`, "a\nb"},
		{"sprig_seq", `{{ sprig_seq }}{{ sprig_seq 1 2 3 4 }}|{{ sprig_seq 0 }}|{{ sprig_seq 1 }}|{{ sprig_seq 3 1 }}|{{ sprig_seq 3 0 1 }}`, "|1 0|1|3 2 1|"},
		{"join", `{{ split "," "a,b" | join "-" }}`, "a-b"},
		{"trim", `{{ "xxaxx" | trim "x" }}`, "a"},
		{"trimPrefix", `{{ "xxa" | trimPrefix "x" }}`, "xa"},
		{"trimSuffix", `{{ "axx" | trimSuffix "x" }}`, "ax"},
		{"trimSpace", `{{ " a " | trimSpace }}`, "a"},
		{"parseBool", `{{ if "true" | parseBool }}yes{{ end }}`, "yes"},
		{"parseFloat", `{{ "1.5" | parseFloat }}`, "1.5"},
		{"parseInt", `{{ "-7" | parseInt }}`, "-7"},
		{"parseUint", `{{ "7" | parseUint }}`, "7"},
		{"parseJSON", `{{ with parseJSON "{\"a\":[1,2]}" }}{{ index .a 1 }}{{ end }}`, "2"},
		{"parseYAML", `{{ with parseYAML "a:\n- x\n" }}{{ index .a 0 }}{{ end }}`, "x"},
		{"regexMatch", `{{ "abc" | regexMatch "^a" }}`, "true"},
		{"regexReplaceAll", `{{ "abbc" | regexReplaceAll "b+" "-" }}`, "a-c"},
		{"replaceAll", `{{ "a.b.c" | replaceAll "." "_" }}`, "a_b_c"},
		{"sha256Hex", `{{ sha256Hex "a" }}`, "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"},
		{"md5sum", `{{ md5sum "a" }}`, "0cc175b9c0f1b6a831c399e269772661"},
		{"hmacSHA256Hex", `{{ hmacSHA256Hex "message" "key" }}`, "6e9ef29b75fffc5b7abae527d58fdadb2fe42e7219011976917343065f58ed4a"},
		{"split", `{{ index (split "," "a,b") 1 }}`, "b"},
		{"splitToMap", `{{ with "a:1,b:2" | splitToMap "," ":" }}{{ .b }}{{ end }}`, "2"},
		{"timestamp", `{{ len (timestamp "2006") }} {{ regexMatch "^[0-9]+$" (timestamp "unix") }}`, "4 true"},
		{"toLower", `{{ "AbC" | toLower }}`, "abc"},
		{"toUpper", `{{ "AbC" | toUpper }}`, "ABC"},
		{"toTitle", `{{ "ab cd" | toTitle }}`, "Ab Cd"},
		{"toJSON", `{{ "a:<" | split ":" | toJSON }}`, `["a","\u003c"]`},
		{"toJSONPretty", `{{ "a" | split ":" | toJSONPretty }}`, "[\n  \"a\"\n]"},
		{"toUnescapedJSON", `{{ "a:<" | split ":" | toUnescapedJSON }}`, `["a","<"]`},
		{"toUnescapedJSONPretty", `{{ "<" | split ":" | toUnescapedJSONPretty }}`, "[\n  \"<\"\n]"},
		{"toYAML", `{{ "a:b" | split ":" | toYAML }}`, "- a\n- b"},
		{"toTOML", `{{ parseJSON "{\"a\":\"b\"}" | toTOML }}`, `a = "b"`},
		{"scratch", `{{ scratch.Set "a" "b" }}{{ scratch.Key "a" }} {{ scratch.Get "a" }}`, "true b"},
		{"sprig of strings", `{{ "ab" | sprig_upper }} {{ sprig_default "d" "" }} {{ sprig_join "-" (sprig_list "a" "b") }}`, "AB d a-b"},
		{"sprig of numbers", `{{ sprig_add 1 2 }} {{ sprig_max 1 3 2 }}`, "3 3"},
		{"sprig of dictionaries", `{{ (sprig_dict "k" "v").k }}`, "v"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t, defined, file(c.template))
			if err := s.start(Config{}); err != nil {
				t.Fatal(err)
			}
			s.stop()
			s.expect("events")
			if got := s.read("t/local/out"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
