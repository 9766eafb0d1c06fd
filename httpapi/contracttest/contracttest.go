// Package contracttest compares answers of the API with rows of its contract. It is for tests only.
package contracttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
)

// Done is the whole answer to a call that succeeded and returns nothing.
const Done = `= {"error":{"code":0,"message":""},"version":"3.1"}`

// Row is a row of the API's contract: a call, the required response, and the result of a read after
// it.
type Row = struct {
	Rule     string
	Call     string // method and path
	Body     string
	Status   int
	Code     apierror.Code
	Want     string // JSON that the response must contain, see within; after "= ", the whole response
	Then     string // path to read afterwards, if not empty
	ThenWant string
}

// Hold makes the calls of rows in order, and checks their responses.
func Hold(c *httpapitest.Client, rows []Row) {
	c.T.Helper()
	for _, r := range rows {
		method, path, _ := strings.Cut(r.Call, " ")
		a := c.Call(method, path, r.Body)
		if a.Status != r.Status || a.Code() != r.Code || a.Error.Message != r.Code.Message() || a.Version != "3.1" {
			c.T.Fatalf(
				"%s: %s is answered %d %s; want %d and code %d", r.Rule, r.Call, a.Status, a.Body, r.Status, r.Code,
			)
		}
		holds(a, r.Rule, r.Want)
		if r.Then != "" {
			holds(c.Must(http.MethodGet, r.Then, ""), r.Rule+", then "+r.Then, r.ThenWant)
		}
	}
}

// holds checks that a response contains some JSON.
func holds(a *httpapitest.Answer, rule, want string) {
	a.T.Helper()
	whole, exact := strings.CutPrefix(want, "= ")
	if exact && whole+"\n" != a.Body {
		a.T.Errorf("%s: answered %.300s; want %s", rule, a.Body, whole)
	}
	if exact || want == "" {
		return
	}
	var wanted, got any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		a.T.Fatalf("%s: %v in %s", rule, err, want)
	}
	if err := json.Unmarshal([]byte(a.Body), &got); err != nil {
		a.T.Fatalf("%s: %v in %s", rule, err, a.Body)
	}
	if wrong := within("", wanted, got); wrong != "" {
		a.T.Errorf("%s: %s\n%.300s", rule, wrong, a.Body)
	}
}

// within describes how a response differs from what is wanted, or returns an empty string. Objects
// may have more fields, arrays must have the same length, and a text that begins with ~ is a
// pattern.
func within(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s is %v; want an object", path, got)
		}
		for name, value := range want {
			field, given := fields[name]
			if !given {
				return fmt.Sprintf("%s.%s is missing", path, name)
			}
			if wrong := within(path+"."+name, value, field); wrong != "" {
				return wrong
			}
		}
		return ""
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return fmt.Sprintf("%s is %v; want %v", path, got, want)
		}
		for i := range want {
			if wrong := within(fmt.Sprintf("%s[%d]", path, i), want[i], items[i]); wrong != "" {
				return wrong
			}
		}
		return ""
	case string:
		if text, ok := got.(string); ok && strings.HasPrefix(want, "~") &&
			regexp.MustCompile(want[1:]).MatchString(text) {
			return ""
		}
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v; want %v", path, got, want)
	}
	return ""
}
