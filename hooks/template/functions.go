package template

import (
	"slices"
	"strings"
	"sync"

	"taskrun/jobspec/diagnostic"
)

// sprigPrefix is the prefix that consul-template gives to the functions of sprig.
const sprigPrefix = "sprig_"

// plainNames are the functions of consul-template and of text/template, without
// plugin and writeToFile, which Nomad does not allow.
const plainNames = `add and base64Decode base64Encode base64URLDecode base64URLEncode
	byKey byMeta byPort byTag call caLeaf caRoots connect contains containsAll
	containsAny containsNone containsNotAll datacenters divide env envOrDefault eq
	executeTemplate explode explodeMap exportedServices file ge gt hmacSHA256Hex
	html importedServices in indent index join js key keyExists keyOrDefault le len
	loop ls lt maximum md5sum mergeMap mergeMapWithOverride minimum modulo multiply
	mustEnv ne node nodes nomadService nomadServices nomadVar nomadVarExists
	nomadVarList nomadVarListSafe not or parseBool parseFloat parseInt parseJSON
	parseUint parseYAML partitions peerings pkiCert print printf println
	regexMatch regexReplaceAll replaceAll safeLs safeTree scratch secret secrets
	service services sha256Hex slice sockaddr spew_dump spew_printf spew_sdump
	spew_sprintf split splitToMap subtract timestamp toJSON toJSONPretty toLower
	toTOML toTitle toUnescapedJSON toUnescapedJSONPretty toUpper toYAML tree trim
	trimPrefix trimSpace trimSuffix urlquery`

// functionNames returns the functions that templates can call.
var functionNames = sync.OnceValue(func() []string {
	names := strings.Fields(plainNames)
	for name := range sprigs() {
		names = append(names, sprigPrefix+name)
	}
	return names
})

// meant returns the function that was probably meant in a parse error about one
// that does not exist, or "".
func meant(text string) string {
	name, isFunction := strings.CutPrefix(text, `function "`)
	name, isUnknown := strings.CutSuffix(name, `" not defined`)
	switch {
	case !isFunction || !isUnknown:
		return ""
	case slices.Contains(functionNames(), sprigPrefix+name):
		return sprigPrefix + name
	}
	return diagnostic.Nearest(name, functionNames())
}
