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

// maxNesting bounds the brackets of a form key; the payloads of the API need two.
const maxNesting = 4

// texts are the values of one form key. Where JSON tells strings, numbers and booleans apart, a
// form has texts.
type texts []string

// formNode is a form key on its way to a value: either the values of the key itself, or what is in
// its brackets.
type formNode struct {
	values   texts
	children map[string]*formNode
}

// nest reads bracket keys: urls[0][long_url], urls[0][tags][], label.
func nest(form url.Values) (Object, error) {
	root := formNode{children: make(map[string]*formNode)}
	for _, key := range slices.Sorted(maps.Keys(form)) { // the same form is the same payload
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

// splitKey takes a[b][c] apart. Empty brackets at the end only say that the values are a list,
// which all are.
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

// add puts values where the segments lead. It is false where they contradict what is there.
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

// value returns what the same payload would be in JSON, but for texts. Brackets that hold nothing
// but numbers are a list in the order of the numbers.
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

// indexes returns the keys of a list in their order.
func (n *formNode) indexes() ([]string, bool) {
	keys := make([]string, 0, len(n.children))
	for key := range n.children {
		if index, err := strconv.ParseUint(key, 10, 31); err != nil ||
			strconv.FormatUint(index, 10) != key {
			return nil, false
		}
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) { // without leading zeros, more digits are more
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return keys, true
}
