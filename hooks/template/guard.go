package template

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// maxSize limits a file, a value and the whole output of a template, in bytes.
// Nomad has no limit.
const maxSize = 64 << 20

// maxDepth limits the nesting of values. A value that contains itself exceeds
// it.
const maxDepth = 1000

// guard ends the execution of a template when its context ends or it needs too
// much memory. The calls that instrument inserts lead to its functions.
type guard struct {
	ctx     context.Context //nolint:containedctx // of one execution, which takes none
	below   func(n int) int // returns a number in [0,n) that derives from a seed; nil: functions are random
	written int
	failure error
}

// begin prepares another execution.
func (g *guard) begin(ctx context.Context) { g.ctx, g.written, g.failure = ctx, 0, nil }

// err returns why the execution was ended, or nil. A loop that was ended by the
// context looks as if it had ended normally.
func (g *guard) err() error {
	if g.failure == nil {
		return g.ctx.Err()
	}
	return g.failure
}

func (g *guard) fail(err error) error {
	if g.failure == nil {
		g.failure = err
	}
	return err
}

// write counts written bytes.
func (g *guard) write(length int) error {
	g.written = add(g.written, length)
	return g.limit(g.written, "it renders")
}

func (g *guard) check(size int) error { return g.limit(size, "a value has") }

// limit ends the execution if it has no time left, or a size is too large.
func (g *guard) limit(size int, what string) error {
	switch err := g.ctx.Err(); {
	case err != nil:
		return g.fail(err)
	case size > maxSize:
		return g.fail(fmt.Errorf("%s more than %d MiB", what, maxSize>>20))
	}
	return nil
}

func (g *guard) repeat(count int, s string) (string, error) {
	if err := g.check(times(max(count, 0), len(s))); err != nil {
		return "", err
	}
	return strings.Repeat(s, max(count, 0)), nil
}

func (g *guard) replace(old, with, s string) (string, error) {
	if err := g.check(add(len(s), times(strings.Count(s, old), len(with)))); err != nil {
		return "", err
	}
	return strings.ReplaceAll(s, old, with), nil
}

func (g *guard) indent(spaces int, s string) (string, error) {
	pad, err := g.repeat(spaces, " ")
	if err != nil {
		return "", err
	}
	s, err = g.replace("\n", "\n"+pad, s)
	return pad + s, err
}

func (g *guard) untilStep(start, stop, step int) ([]int, error) {
	list := []int{}
	if step == 0 || (stop < start) != (step < 0) {
		return list, nil
	}
	distance, stride := uint64(stop)-uint64(start), uint64(step) // unsigned: neither overflows
	if step < 0 {
		distance, stride = -distance, -stride
	}
	count := distance / stride
	if distance%stride > 0 {
		count++
	}
	if err := g.check(times(int(min(count, maxSize)), 8)); err != nil {
		return nil, err
	}
	for i := range int(count) {
		list = append(list, start+i*step)
	}
	return list, nil
}

// seq works like the command with that name.
func (g *guard) seq(params ...int) (string, error) {
	start, step := 1, 0
	var end int
	switch len(params) {
	case 1:
		end = params[0]
	case 2:
		start, end = params[0], params[1]
	case 3:
		start, step, end = params[0], params[1], params[2]
	default:
		return "", nil
	}
	by := 1
	if end < start {
		by = -1
	}
	if step == 0 && len(params) < 3 {
		step = by
	}
	if by < 0 && step > 0 {
		return "", nil
	}
	list, err := g.untilStep(start, end+by, step)
	return strings.Trim(fmt.Sprint(list), "[]"), err
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// add and times do not overflow for sizes, which are never negative.
func add(a, b int) int { return min(a, 2*maxSize) + min(b, 2*maxSize) }

func times(a, b int) int {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > 2*maxSize/b {
		return 2 * maxSize
	}
	return a * b
}

// sizeOf estimates the size of a value when it is written. It stops counting at
// maxSize.
func sizeOf(v reflect.Value, depth int) int {
	if !v.IsValid() {
		return 0
	}
	if depth == 0 {
		return 2 * maxSize
	}
	total := 0
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Interface:
		return sizeOf(v.Elem(), depth-1)
	case reflect.Pointer:
		if depth < maxDepth { // deeper values are written as addresses
			return 16
		}
		return sizeOf(v.Elem(), depth-1)
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && total <= maxSize; i++ {
			total = add(total, 1+sizeOf(v.Index(i), depth-1))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next() && total <= maxSize; {
			total = add(total, 2+sizeOf(it.Key(), depth-1)+sizeOf(it.Value(), depth-1))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && total <= maxSize; i++ {
			total = add(total, 1+sizeOf(v.Field(i), depth-1))
		}
	default:
		return 8
	}
	return total
}

// loop counts like consul-template's function, until the execution ends.
func (g *guard) loop(bounds ...any) (<-chan int64, error) {
	var list [2]int64
	if len(bounds) == 0 || len(bounds) > 2 {
		return nil, fmt.Errorf("loop: wrong number of arguments, expected 1 or 2, but got %d", len(bounds))
	}
	for i, b := range bounds {
		n, err := integer(b)
		if err != nil {
			return nil, err
		}
		list[i+2-len(bounds)] = n
	}
	numbers, ctx := make(chan int64), g.ctx
	go func() {
		defer close(numbers)
		for i := list[0]; i < list[1]; i++ {
			select {
			case numbers <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return numbers, nil
}

func integer(of any) (int64, error) {
	switch v := reflect.ValueOf(of); {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		return int64(v.Uint()), nil //nolint:gosec // as consul-template does
	case v.Kind() == reflect.String:
		if v.String() == "" {
			return 0, nil
		}
		return strconv.ParseInt(v.String(), 10, 64)
	}
	return 0, fmt.Errorf("loop: bad argument type: %T", of)
}
