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

// formNode is a node of the tree that the brackets of form keys make. It has either values or
// children.
type formNode struct {
	values   formValues
	children map[string]*formNode
}

// nest reads a form with keys such as urls[0][long_url], urls[0][tags][] and label.
func nest(form url.Values) (Object, error) {
	root := formNode{children: make(map[string]*formNode)}
	// The keys are sorted so that the same form always has the same payload.
	for _, key := range slices.Sorted(maps.Keys(form)) {
		values := form[key]
		if !utf8.ValidString(key) ||
			slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return Object{}, apierror.WrongInput("The form is not UTF-8")
		}
		segments, ok := splitKey(key)
		if !ok {
			return Object{}, apierror.WrongInput(
				"The form key %q cannot be read, an example is urls[0][long_url]", key,
			)
		}
		if !root.add(segments, values) {
			return Object{}, apierror.WrongInput("The form key %q is used in two ways", key)
		}
	}
	values := make(map[string]any, len(root.children))
	for name, child := range root.children {
		values[name] = child.value()
	}
	return Object{Values: values}, nil
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

// add adds values at the path of segments. It returns false if a node would have both values and
// children.
func (n *formNode) add(segments []string, values []string) bool {
	if len(segments) == 0 {
		n.values = append(n.values, values...)
		return len(n.children) == 0
	}
	if n.children == nil {
		n.children = make(map[string]*formNode)
	}
	child, ok := n.children[segments[0]]
	if !ok {
		child = &formNode{}
		n.children[segments[0]] = child
	}
	return len(n.values) == 0 && child.add(segments[1:], values)
}

// value returns what the node would be in JSON, with formValues in place of scalars. If all
// children have numbers for names, they are a list in the order of the numbers.
func (n *formNode) value() any {
	if len(n.children) == 0 {
		return n.values
	}
	if indexes, ok := n.indexes(); ok {
		list := make([]any, 0, len(indexes))
		for _, key := range indexes {
			list = append(list, n.children[key].value())
		}
		return list
	}
	values := make(map[string]any, len(n.children))
	for name, child := range n.children {
		values[name] = child.value()
	}
	return values
}

// indexes returns the names of the children in numeric order, or false if one of them is not a
// number.
func (n *formNode) indexes() ([]string, bool) {
	keys := make([]string, 0, len(n.children))
	for key := range n.children {
		index, err := strconv.ParseUint(key, 10, 31)
		if err != nil || strconv.FormatUint(index, 10) != key {
			return nil, false
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) { // there are no leading zeros, so the longer number is larger
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return keys, true
}
