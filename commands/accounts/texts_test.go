package accounts_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/events"
)

// TestTextsOfAccounts checks that no text with a control character reaches the stream of an account,
// and that the refusal names the field.
func TestTextsOfAccounts(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	added, err := o.AddKey(t.Context(), operator(), o.id, events.KeyTerms{Name: "first"})
	if err != nil {
		t.Fatal(err)
	}
	for _, odd := range []string{"a\x00b", "a\x1b[2Jb", "a\x7fb", "a\u009bb", "a\xffb", "a\nb"} {
		quoted := `"` + odd + `"`
		for name, call := range map[string]func() error{
			"name": func() error {
				_, err := o.AddKey(t.Context(), operator(), o.id, events.KeyTerms{Name: odd})
				return err
			},
			"tags": func() error {
				_, err := o.AddKey(t.Context(), operator(), o.id, events.KeyTerms{Tags: quoted})
				return err
			},
			"name of a change": func() error {
				_, err := o.ChangeKey(t.Context(), operator(), o.id, added.Key.ID, access.TermsChange{Name: &odd})
				return err
			},
			"plan": func() error {
				_, err := o.Open(t.Context(), operator(), "u-"+uuid.NewString()[:8], odd)
				return err
			},
		} {
			if err := call(); domain.KindOf(err) != domain.InvalidValue {
				t.Errorf("%s %q: %v", name, odd, err)
			} else if name != "tags" && !strings.Contains(name, strings.Fields(err.Error())[0]) {
				t.Errorf("%q does not name %s", err, name)
			}
		}
	}
}
