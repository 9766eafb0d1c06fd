package claims

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzPerson(f *testing.F) {
	f.Add(`{"sub":"ada","name":"Ada","email":"ada@example.com","groups":["a"]}`, `{"sub":"ada"}`)
	f.Add(`{"sub":"ada","_claim_names":{"groups":"a"}}`, `{"sub":"ada","groups":[1,"","a","a"]}`)
	f.Add(`{"sub":"ada","groups":"a"}`, `{"sub":"ada","email":"a\u202e@b","email_verified":"false"}`)
	f.Add(`{"sub":"ada","events":{"http://schemas.openid.net/event/backchannel-logout":{}}}`, `{"sub":"ada"}`)
	f.Fuzz(func(t *testing.T, token, endpoint string) {
		var found, more Claims
		if json.Unmarshal([]byte(token), &found) != nil || found == nil ||
			json.Unmarshal([]byte(endpoint), &more) != nil {
			return
		}
		_ = found.IsSignOut()
		err := found.Add(more)
		var got Person
		if err == nil {
			got, err = found.Person("groups", []string{"a", "staff"})
		}
		if err != nil {
			return
		}
		if got.Subject == "" || len(got.Subject) > maxSubject || len(got.Mail) > maxMail ||
			utf8.RuneCountInString(got.Name) > maxName || len(got.Groups) > 2 {
			t.Errorf("%+v is out of bounds", got)
		}
		if text := got.Subject + got.Mail + got.Name; strings.ContainsFunc(text, invisible) {
			t.Errorf("%q has invisible characters", text)
		}
	})
}
