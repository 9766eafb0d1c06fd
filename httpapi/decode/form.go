package decode

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"linkledger/httpapi/apierror"
)

// maxNesting bounds the segments of a form key. The payloads of the API need three, such as
// urls[0][long_url].
const maxNesting = 4

// formValues are the values of one form key. A form has no types: an Object converts its values to
// the types that its caller asks for.
type formValues []string

// nest reads a form with keys such as urls[0][long_url], urls[0][tags][] and label. The result is
// the form as a JSON object, with formValues instead of scalars.
func nest(form url.Values) (Object, error) {
	root := make(map[string]any)
	// The keys are sorted so that the same form always has the same payload.
	for _, key := range slices.Sorted(maps.Keys(form)) {
		if !utf8.ValidString(key + "=" + strings.Join(form[key], "&")) {
			return Object{}, apierror.WrongInput("The form is not UTF-8")
		}
		segments, ok := splitKey(key)
		if !ok {
			return Object{}, apierror.WrongInput(
				"The form key %q cannot be read, an example is urls[0][long_url]", key,
			)
		}
		if !add(root, segments, form[key]) {
			return Object{}, apierror.WrongInput("The form key %q is used in two ways", key)
		}
	}
	for name, child := range root {
		root[name] = withLists(child)
	}
	return Object{Values: root}, nil
}

// splitKey splits a[b][c] into its segments. It returns false if the key is malformed or has too
// many segments. Empty brackets at the end mark a list. They are ignored because all values are
// lists.
func splitKey(key string) ([]string, bool) {
	key = strings.TrimSuffix(key, "[]")
	name, rest, nested := strings.Cut(key, "[")
	segments := []string{name}
	if nested {
		inner, closed := strings.CutSuffix(rest, "]")
		if !closed {
			return nil, false
		}
		segments = append(segments, strings.Split(inner, "][")...)
	}
	odd := func(s string) bool { return s == "" || strings.ContainsAny(s, "[]") }
	return segments, len(segments) <= maxNesting && !slices.ContainsFunc(segments, odd)
}

// add adds values to a tree of maps at the path of segments. It returns false if a node of the tree
// would have both values and children.
func add(tree map[string]any, segments []string, values formValues) bool {
	name, rest := segments[0], segments[1:]
	unused := tree[name] == nil
	if len(rest) == 0 {
		before, ok := tree[name].(formValues)
		tree[name] = append(before, values...)
		return ok || unused
	}
	if unused {
		tree[name] = make(map[string]any)
	}
	child, ok := tree[name].(map[string]any)
	return ok && add(child, rest, values)
}

// withLists returns a tree in which each map whose keys are all numbers is a list, in the order of
// the numbers.
func withLists(node any) any {
	tree, ok := node.(map[string]any)
	if !ok {
		return node
	}
	indexes := make([]uint64, 0, len(tree))
	for name, child := range tree {
		tree[name] = withLists(child)
		index, err := strconv.ParseUint(name, 10, 31)
		if err == nil && strconv.FormatUint(index, 10) == name {
			indexes = append(indexes, index)
		}
	}
	if len(indexes) < len(tree) {
		return tree
	}
	slices.Sort(indexes)
	list := make([]any, len(indexes))
	for i, index := range indexes {
		list[i] = tree[strconv.FormatUint(index, 10)]
	}
	return list
}
