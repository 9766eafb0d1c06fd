package apierror_test

import (
	"errors"
	"strings"
	"testing"

	"linkledger/commands/access"
	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
)

// TestNeed checks that a call is refused if its key lacks a needed scope. The refusal names what the key lacks.
func TestNeed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		scopes, needed access.Scopes
		lacks          string
	}{
		"nothing needed":     {0, 0, ""},
		"the needed scope":   {access.LinksRead, access.LinksRead, ""},
		"more than needed":   {access.All, access.LinksRead | access.Keys, ""},
		"no scope":           {0, access.TagsWrite, "tags:write"},
		"another scope":      {access.LinksRead, access.LinksWrite, "links:write"},
		"one of two scopes":  {access.LinksRead, access.LinksRead | access.StatsRead, "stats:read"},
		"none of two scopes": {access.TagsWrite, access.Keys | access.LinksRead, "links:read, keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := apierror.Need(tc.scopes, tc.needed)
			if tc.lacks == "" {
				if err != nil {
					t.Errorf("the call is refused: %v", err)
				}
				return
			}
			refused, ok := apierror.Refusal(err)
			if !ok || refused.Code != apierror.CodeAccessDenied ||
				!strings.HasSuffix(refused.Details, "lacks the scope "+tc.lacks) {
				t.Errorf("the refusal is %+v, %v; want that the scope %s is lacking", refused, err, tc.lacks)
			}
		})
	}
}

// TestRefusedAs checks that the kind of a refusal is that of its command.
func TestRefusedAs(t *testing.T) {
	t.Parallel()
	refused := &domain.Error{Kind: domain.InvalidURL}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"that kind":         {refused, true},
		"that kind, inside": {errors.Join(errors.New("x"), refused), true},
		"another kind":      {&domain.Error{Kind: domain.KeyReused}, false},
		"no command":        {apierror.WrongInput("x"), false},
		"none":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := apierror.RefusedAs(tc.err, domain.InvalidURL); got != tc.want {
				t.Errorf("%v is of the kind: %t, want %t", tc.err, got, tc.want)
			}
		})
	}
}
