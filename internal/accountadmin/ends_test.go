package accountadmin_test

import (
	"context"
	"testing"
	"time"

	"linkledger/commands/permit"
	"linkledger/internal/accountadmin"
	"linkledger/internal/installation/installationtest"
	"linkledger/queries/cache"
)

// TestEndsOutlastCaches checks that a command which ends rights does not return while a node may still use rights that
// it has cached before, or may still run a call that began with them.
func TestEndsOutlastCaches(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	known := func(name string) string {
		person := i.Known(name)
		employ(t, i, "acme", person)
		return person
	}
	for name, prepare := range map[string]func() command{
		"rotate a key": func() command {
			i.Open("rotated")
			return func(ctx context.Context, o operator) error { return accountadmin.RotateKey(ctx, o, "rotated") }
		},
		"deactivate": func() command {
			i.Open("closed")
			return func(ctx context.Context, o operator) error { return accountadmin.Deactivate(ctx, o, "closed") }
		},
		"edit": func() command {
			i.Open("edited")
			return func(ctx context.Context, o operator) error {
				return accountadmin.Edit(ctx, o, "edited", new("pro"), nil)
			}
		},
		"revoke a key": func() command {
			id := i.Open("revoked").Account.Keys[0].ID
			return func(ctx context.Context, o operator) error { return accountadmin.RevokeKey(ctx, o, "revoked", id) }
		},
		"change a role": func() command {
			person := known("Demoted")
			return func(ctx context.Context, o operator) error {
				return accountadmin.SetMember(ctx, o, "acme", person, "viewer")
			}
		},
		"remove a member": func() command {
			person := known("Leaver")
			return func(ctx context.Context, o operator) error {
				return accountadmin.RemoveMember(ctx, o, "acme", person)
			}
		},
		"erase an account": func() command {
			i.Open("erased")
			return func(ctx context.Context, o operator) error { return accountadmin.Erase(ctx, o, "erased") }
		},
		"erase a person": func() command {
			person := known("Erased")
			return func(ctx context.Context, o operator) error { return accountadmin.ErasePerson(ctx, o, person) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := prepare()
			began := time.Now()
			i.Run(run).Has()
			if took, least := time.Since(began), cache.TrustedFor+permit.EndsWithin; took < least {
				t.Errorf("the command returned after %s; want at least %s", took, least)
			}
		})
	}
}
