package openid_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"linkledger/httpapi/openid"
	"linkledger/httpapi/openid/openidtest"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	type some = map[string]any
	many := slices.Repeat([]string{strings.Repeat("g", 255)}, 200)
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
		"long mail":           {some{"email": mail}, func(i *openid.Identity) { i.Mail = mail }},
		"mail of two lines":   {some{"email": "ada@example.com\r\n"}, func(i *openid.Identity) { i.Mail = "" }},
		"no mail":             {some{"email": nil}, func(i *openid.Identity) { i.Mail = "" }},
		"preferred user name": {some{"name": nil, "preferred_username": "al"}, func(i *openid.Identity) { i.Name = "al" }},
		"blank name":          {some{"name": " \n", "preferred_username": "al"}, func(i *openid.Identity) { i.Name = "al" }},
		"name is the mail":    {some{"name": ""}, func(i *openid.Identity) { i.Name = i.Mail }},
		"long name":           {some{"name": long}, func(i *openid.Identity) { i.Name = long[:400] }},
		"name with controls":  {some{"name": " A\x00d\u202ea\u2028\u0085\n"}, func(i *openid.Identity) { i.Name = "Ada" }},
		"null for a name":     {some{"name": (*int)(nil)}, func(i *openid.Identity) { i.Name = i.Mail }},
		"longest subject":     {some{"sub": strings.Repeat("~", 255)}, func(i *openid.Identity) { i.Subject = strings.Repeat("~", 255) }},
		"one group":           {some{"groups": "staff"}, func(i *openid.Identity) { i.Groups = []string{"staff"} }},
		"empty group":         {some{"groups": ""}, func(i *openid.Identity) { i.Groups = nil }},
		"no groups":           {some{"groups": nil}, func(i *openid.Identity) { i.Groups = nil }},
		"many groups":         {some{"groups": many}, func(i *openid.Identity) { i.Groups = many }},
		"own party":           {some{"azp": "linkledger"}, func(*openid.Identity) {}},
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
				if got, err := s.signIn(t); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, %v; want %+v", got, err, want)
				}
			})
		}
	}
	t.Run("without a claim for groups", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, func(cfg *openid.Config) { cfg.GroupsClaim = "" })
		if got, err := s.signIn(t); err != nil || got.Groups != nil {
			t.Errorf("%+v, %v; want no groups", got, err)
		}
	})
}

func TestOversizeClaims(t *testing.T) {
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
		"long mail":            {some{"email": strings.Repeat("m", 321)}, "email"},
		"mail is no text":      {some{"email": 7}, "email"},
		"name is no text":      {some{"name": []string{"a"}}, "name"},
		"too many groups":      {some{"groups": slices.Repeat([]string{"g"}, 201)}, "more than 200"},
		"long group":           {some{"groups": []string{"a", strings.Repeat("g", 256)}}, "255"},
		"long single group":    {some{"groups": strings.Repeat("g", 256)}, "255"},
		"group without a name": {some{"groups": []string{""}}, "1 to"},
		"group with a NUL":     {some{"groups": "a\x00"}, "1 to"},
		"groups are no texts":  {some{"groups": []int{7}}, "list"},
		"groups are no list":   {some{"groups": some{"a": "b"}}, "list"},
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
