package openid_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/openidtest"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	type some = map[string]any
	var many []string
	for i := range 2000 {
		many = append(many, strings.Repeat("g", 36)+strconv.Itoa(i))
	}
	overage := func(claim string) some {
		return some{
			"groups": nil, "_claim_names": some{claim: "src1"},
			"_claim_sources": some{"src1": some{"endpoint": "https://graph.example.com/users/ada/getMemberObjects"}},
		}
	}
	none := func(i *openid.Identity) { i.Groups = nil }
	staff := func(i *openid.Identity) { i.Groups = []string{"staff"} }
	unknown := func(i *openid.Identity) { i.Groups, i.GroupsUnknown = nil, "x" }
	missing := func(i *openid.Identity) { i.Groups, i.GroupsMissing = nil, true }
	long := strings.Repeat("é", 201)
	mail := strings.Repeat("m", 308) + "@example.com"
	for name, test := range map[string]struct {
		claims some
		change func(*openid.Identity) // of Ada
	}{
		"verified as a text":       {some{"email_verified": "true"}, func(*openid.Identity) {}},
		"mail of unknown standing": {some{"email_verified": nil}, func(*openid.Identity) {}},
		"unverified mail":          {some{"email_verified": false}, func(i *openid.Identity) { i.Mail = "" }},
		"unverified as a text":     {some{"email_verified": "false"}, func(i *openid.Identity) { i.Mail = "" }},
		"verified in other words":  {some{"email_verified": 1}, func(i *openid.Identity) { i.Mail = "" }},
		"unverified mail as name": {
			some{"email_verified": false, "name": nil},
			func(i *openid.Identity) { i.Mail, i.Name = "", "" },
		},
		"claims of other spelling": {
			some{"Sub": "eve", "EMAIL": "eve@example.com", "Email_Verified": false, "zSub": ""},
			func(*openid.Identity) {},
		},
		"long mail":                         {some{"email": mail}, func(i *openid.Identity) { i.Mail = mail }},
		"mail of two lines":                 {some{"email": "ada@example.com\r\n"}, func(i *openid.Identity) { i.Mail = "" }},
		"no mail":                           {some{"email": nil}, func(i *openid.Identity) { i.Mail = "" }},
		"preferred user name":               {some{"name": nil, "preferred_username": "al"}, func(i *openid.Identity) { i.Name = "al" }},
		"blank name":                        {some{"name": " \n", "preferred_username": "al"}, func(i *openid.Identity) { i.Name = "al" }},
		"name is the mail":                  {some{"name": ""}, func(i *openid.Identity) { i.Name = i.Mail }},
		"long name":                         {some{"name": long}, func(i *openid.Identity) { i.Name = long[:400] }},
		"name with controls":                {some{"name": " A\x00d\u202ea\u2028\u0085\n"}, func(i *openid.Identity) { i.Name = "Ada" }},
		"null for a name":                   {some{"name": (*int)(nil)}, func(i *openid.Identity) { i.Name = i.Mail }},
		"longest subject":                   {some{"sub": strings.Repeat("~", 255)}, func(i *openid.Identity) { i.Subject = strings.Repeat("~", 255) }},
		"one group":                         {some{"groups": "staff"}, staff},
		"empty group":                       {some{"groups": ""}, none},
		"no group":                          {some{"groups": []string{}}, none},
		"no claim of groups":                {some{"groups": nil}, missing},
		"null for groups":                   {some{"groups": (*int)(nil)}, missing},
		"groups of others":                  {some{"groups": []string{"another", "Staff", "staff "}}, none},
		"one group of others":               {some{"groups": "another"}, none},
		"many groups":                       {some{"groups": append(many, "staff")}, staff},
		"repeated group":                    {some{"groups": []string{"staff", "staff"}}, staff},
		"group without name":                {some{"groups": []string{"", "staff"}}, staff},
		"long group":                        {some{"groups": []string{strings.Repeat("g", 10_000), "staff"}}, staff},
		"group with a NUL":                  {some{"groups": []string{"a\x00", "staff"}}, staff},
		"groups not as texts":               {some{"groups": []any{7, nil, some{"id": "staff"}, "staff"}}, staff},
		"more groups than fit, elsewhere":   {overage("groups"), unknown},
		"another claim elsewhere":           {overage("roles"), missing},
		"groups here and elsewhere":         {some{"_claim_names": some{"groups": "src1"}, "_claim_sources": some{"src1": some{}}}, func(*openid.Identity) {}},
		"groups that are not said":          {some{"groups": nil, "hasgroups": true}, unknown},
		"groups that are not said, as text": {some{"groups": nil, "hasgroups": "true"}, unknown},
		"no groups that are not said":       {some{"groups": nil, "hasgroups": false}, missing},
		"groups in an object":               {some{"groups": some{"a": "b"}}, unknown},
		"groups are a number":               {some{"groups": 7}, unknown},
		"too long mail":                     {some{"email": strings.Repeat("m", 321)}, func(i *openid.Identity) { i.Mail = "" }},
		"mail is no text":                   {some{"email": 7}, func(i *openid.Identity) { i.Mail = "" }},
		"name is no text": {
			some{"name": []string{"a"}, "preferred_username": "al"},
			func(i *openid.Identity) { i.Name = "al" },
		},
		"own party": {some{"azp": "linkledger"}, func(*openid.Identity) {}},
	} {
		for place, thin := range map[string]bool{"in the token": false, "at the endpoint": true} {
			t.Run(name+" "+place, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, nil)
				s.issuer.Thin(thin)
				person := openidtest.Ada
				person.Claims = test.claims
				s.issuer.SignIn(person)
				want := s.ada()
				test.change(&want)
				got, err := s.signIn(t)
				if err != nil || (got.GroupsUnknown == "") != (want.GroupsUnknown == "") {
					t.Errorf("%+v, %v; want %+v", got, err, want)
				}
				got.GroupsUnknown, want.GroupsUnknown = "", ""
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%+v; want %+v", got, want)
				}
			})
		}
	}
	for name, change := range map[string]func(*openid.Config){
		"without a claim for groups":     func(cfg *openid.Config) { cfg.GroupsClaim = "" },
		"without groups that are wanted": func(cfg *openid.Config) { cfg.Groups = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, change)
			person := openidtest.Ada
			person.Claims = overage("groups")
			s.issuer.SignIn(person)
			if got, err := s.signIn(t); err != nil || got.Groups != nil || got.GroupsUnknown != "" || got.GroupsMissing {
				t.Errorf("%+v, %v; want no groups", got, err)
			}
		})
	}
	t.Run("answer of any length", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		person := openidtest.Ada
		person.Claims = some{"groups": slices.Repeat(many, 20)}
		s.issuer.SignIn(person)
		_, err := s.signIn(t)
		wantError(t, err, openid.ErrUnavailable, "more than 1048576 bytes")
	})
}

func TestWrongClaims(t *testing.T) {
	t.Parallel()
	type some = map[string]any
	for name, test := range map[string]struct {
		claims some
		word   string
	}{
		"no subject":           {some{"sub": ""}, "sub"},
		"long subject":         {some{"sub": strings.Repeat("s", 256)}, "sub"},
		"subject not in ASCII": {some{"sub": "é"}, "sub"},
		"subject of two lines": {some{"sub": "a\nb"}, "sub"},
		"subject is no text":   {some{"sub": 7}, ""},
		"party is no text":     {some{"azp": []string{"linkledger"}}, "azp"},
		"party is another":     {some{"azp": "another"}, "another client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			person := openidtest.Ada
			person.Claims = test.claims
			s.issuer.SignIn(person)
			_, err := s.signIn(t)
			wantError(t, err, openid.ErrInvalid, test.word)
		})
	}
}
