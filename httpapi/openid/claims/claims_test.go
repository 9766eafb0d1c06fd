package claims_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"linkledger/httpapi/openid/claims"
)

func parsed(t *testing.T, text string) (read claims.Claims) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestPerson checks what is believed of a person. The tests of sign-ins have more such claims.
func TestPerson(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		claims string
		want   claims.Person
		wrong  string // part of the error
	}{
		"all": {
			`{"sub":"ada","name":"Ada","email":"ada@example.com","email_verified":true,"groups":["staff","other"]}`,
			claims.Person{Subject: "ada", Name: "Ada", Mail: "ada@example.com", Groups: []string{"staff"}},
			"",
		},
		"unverified mail": {
			`{"sub":"ada","name":"","email":"ada@example.com","email_verified":"false","groups":"staff"}`,
			claims.Person{Subject: "ada", Groups: []string{"staff"}},
			"",
		},
		"no groups": {`{"sub":"ada"}`, claims.Person{Subject: "ada", GroupsMissing: true}, ""},
		"groups elsewhere": {
			`{"sub":"ada","_claim_names":{"groups":"src1"}}`,
			claims.Person{Subject: "ada", GroupsUnknown: "the issuer names another place where claim groups is"},
			"",
		},
		"groups that are not said": {
			`{"sub":"ada","hasgroups":true}`,
			claims.Person{Subject: "ada", GroupsUnknown: "the issuer says that there are groups, and not which"},
			"",
		},
		"groups of another shape": {
			`{"sub":"ada","groups":7}`,
			claims.Person{Subject: "ada", GroupsUnknown: "claim groups is neither a list nor a text"},
			"",
		},
		"long mail and name": {
			`{"sub":"ada","email":"` + strings.Repeat("m", 321) + `","name":"` + strings.Repeat("é", 201) + `","groups":[]}`,
			claims.Person{Subject: "ada", Name: strings.Repeat("é", 200)},
			"",
		},
		"no subject":           {`{"name":"Ada"}`, claims.Person{}, "claim sub"},
		"long subject":         {`{"sub":"` + strings.Repeat("a", 256) + `"}`, claims.Person{}, "claim sub"},
		"subject of two lines": {`{"sub":"a\nb"}`, claims.Person{}, "claim sub"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parsed(t, test.claims).Person("groups", []string{"staff"})
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("error %v, want %q", err, test.wrong)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%+v; want %+v", got, test.want)
			}
		})
	}
}

// TestAdd checks that another answer adds claims about the same person, and changes none.
func TestAdd(t *testing.T) {
	t.Parallel()
	token := parsed(t, `{"sub":"ada","name":"Ada","email_verified":true}`)
	if !token.Lack("groups") {
		t.Error("claims without mail and groups lack nothing")
	}
	if err := token.Add(parsed(t, `{"sub":"eve","name":"Eve"}`)); err == nil {
		t.Error("claims of another person are added")
	}
	more := parsed(t, `{"sub":"ada","name":"Eve","email":"ada@example.com","email_verified":false,"groups":[]}`)
	if err := token.Add(more); err != nil {
		t.Fatal(err)
	}
	if token.Lack("groups") {
		t.Errorf("%s lacks claims", token)
	}
	// The token's email_verified is about no address.
	got, err := token.Person("groups", []string{"staff"})
	if want := (claims.Person{Subject: "ada", Name: "Ada"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

// TestIsSignOut checks which claims belong to a sign-out token.
func TestIsSignOut(t *testing.T) {
	t.Parallel()
	const event = "http://schemas.openid.net/event/backchannel-logout"
	for text, want := range map[string]bool{
		`{"events":{"` + event + `":{}}}`: true, `{"events":{"` + event + `":null}}`: false,
		`{"events":{"another":{}}}`: false, `{"events":7}`: false, `{}`: false,
	} {
		if got := parsed(t, text).IsSignOut(); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
