package accounts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/access"
	"linkledger/commands/accounts"
	"linkledger/commands/commandstest"
	"linkledger/commands/domain"
	"linkledger/commands/streams"
	"linkledger/events"
	"linkledger/events/eventstore"
	"linkledger/events/eventstore/eventstoretest"
)

// office is an account on a private event store.
type office struct {
	*accounts.Accounts
	t     *testing.T
	store *eventstore.Store
	id    string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	store := eventstoretest.New(t)
	o := &office{accounts.New(streams.New(streams.Config{Store: store}), nil), t, store, ""}
	opened, err := o.Open(t.Context(), operator(), "acme", "free")
	if err != nil {
		t.Fatal(err)
	}
	o.id = opened.Account.ID
	return o
}

func operator() domain.Request { return domain.Request{Operator: true, Command: uuid.New()} }

// by returns the request of a person, whose login may be out of date.
func by(user string) domain.Request { return domain.Request{User: user, Command: uuid.New()} }

// withKey returns the request of a key of an account.
func withKey(key, account string) domain.Request {
	return domain.Request{Key: key, Account: account, Command: uuid.New()}
}

// add adds a key that may do everything, and returns its id.
func (o *office) add(r domain.Request) string {
	o.t.Helper()
	added, err := o.AddKey(o.t.Context(), r, o.id, events.KeyTerms{})
	if err != nil {
		o.t.Fatal(err)
	}
	return added.Key.ID
}

// set gives a person a role, and returns the person.
func (o *office) set(role access.Role) string {
	o.t.Helper()
	user := uuid.NewString()
	if _, err := o.SetMember(o.t.Context(), operator(), o.id, accounts.Member{User: user, Role: role}); err != nil {
		o.t.Fatal(err)
	}
	return user
}

// roles returns the members as the log has them.
func (o *office) roles() string {
	o.t.Helper()
	account, err := accounts.Load(o.t.Context(), streams.New(streams.Config{Store: o.store}), o.id)
	if err != nil {
		o.t.Fatal(err)
	}
	words := make([]string, len(account.Members))
	for i, m := range account.Members {
		words[i] = string(m.Role) + m.Group
	}
	return strings.Join(words, " ")
}

// TestCallerByTheLog checks that the log decides what a person may do, not what their login knew.
func TestCallerByTheLog(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	former := o.set(access.Owner)
	if _, err := o.RemoveMember(t.Context(), operator(), o.id, former); err != nil {
		t.Fatal(err)
	}
	victim := o.set(access.Viewer)
	for name, user := range map[string]string{
		"former owner": former, "stranger": uuid.NewString(), "editor": o.set(access.Editor),
		"viewer": o.set(access.Viewer), "auditor": o.set(access.Auditor),
	} {
		member := accounts.Member{User: uuid.NewString(), Role: access.Viewer}
		_, setErr := o.SetMember(t.Context(), by(user), o.id, member)
		_, removeErr := o.RemoveMember(t.Context(), by(user), o.id, victim)
		_, addErr := o.AddKey(t.Context(), by(user), o.id, events.KeyTerms{Scopes: []string{"links:read"}})
		for call, err := range map[string]error{"SetMember": setErr, "RemoveMember": removeErr, "AddKey": addErr} {
			if domain.KindOf(err) != domain.AccessDenied {
				t.Errorf("%s by the %s: %v", call, name, err)
			}
		}
	}
	boss := o.set(access.Owner)
	if _, err := o.RemoveMember(t.Context(), by(boss), o.id, victim); err != nil {
		t.Errorf("by the owner: %v", err)
	}
	if _, err := o.AddKey(t.Context(), by(boss), o.id, events.KeyTerms{}); err != nil {
		t.Errorf("a key by the owner: %v", err)
	}
}

// TestRemovedMembersAddNobody removes an owner who gives roles all the time. After the removal, no role comes from that
// person.
func TestRemovedMembersAddNobody(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	thief := o.set(access.Owner)
	commandstest.Together(2, func(i int) {
		if i == 0 {
			if _, err := o.RemoveMember(t.Context(), operator(), o.id, thief); err != nil {
				t.Error(err)
			}
			return
		}
		for {
			member := accounts.Member{User: uuid.NewString(), Role: access.Owner}
			if _, err := o.SetMember(t.Context(), by(thief), o.id, member); err != nil {
				return
			}
		}
	})
	loaded, err := o.store.Load(t.Context(), events.StreamAccount+o.id)
	if err != nil {
		t.Fatal(err)
	}
	if last := loaded[len(loaded)-1].Type; last != "account.member_removed.v1" {
		t.Errorf("the last event is %s", last)
	}
}

// TestGroupRoles checks that roles by groups come and go, and that roles that someone gave stay.
func TestGroupRoles(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	user := uuid.NewString()
	want := func(roles string) {
		t.Helper()
		if got := o.roles(); got != roles {
			t.Errorf("the members are %q; want %q", got, roles)
		}
	}
	grant := func(role access.Role, group string) {
		t.Helper()
		member := accounts.Member{User: user, Role: role, Group: group}
		for range 2 {
			if _, err := o.SetGroupRole(t.Context(), operator(), o.id, member); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := func() {
		t.Helper()
		for range 2 {
			if _, err := o.EndGroupRole(t.Context(), operator(), o.id, user); err != nil {
				t.Fatal(err)
			}
		}
	}
	grant(access.Viewer, " of staff")
	want("viewer of staff")
	grant(access.Editor, " of writers")
	want("editor of writers")
	end()
	want("")
	grant(access.Viewer, " of staff")
	if _, err := o.SetMember(t.Context(), operator(), o.id, accounts.Member{User: user, Role: access.Owner}); err != nil {
		t.Fatal(err)
	}
	grant(access.Viewer, " of staff")
	end()
	want("owner")
}

// TestOwnRoleByAGroup checks that only others turn a role by a group into one that stays.
func TestOwnRoleByAGroup(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	user := uuid.NewString()
	group := accounts.Member{User: user, Role: access.Owner, Group: "bosses"}
	if _, err := o.SetGroupRole(t.Context(), operator(), o.id, group); err != nil {
		t.Fatal(err)
	}
	for _, role := range access.Roles() {
		_, err := o.SetMember(t.Context(), by(user), o.id, accounts.Member{User: user, Role: role})
		if domain.KindOf(err) != domain.AccessDenied {
			t.Errorf("to become %s: %v", role, err)
		}
	}
	key := o.add(by(user))
	ofKey := o.add(withKey(key, o.id))
	byKeys := func(when string) {
		t.Helper()
		for name, id := range map[string]string{"her key": key, "a key of her key": ofKey} {
			_, err := o.SetMember(t.Context(), withKey(id, o.id), o.id, accounts.Member{User: user, Role: access.Owner})
			if domain.KindOf(err) != domain.AccessDenied {
				t.Errorf("%s, %s: %v", name, when, err)
			}
		}
	}
	byKeys("by a group")
	if got := o.roles(); got != "ownerbosses" {
		t.Errorf("the members are %q", got)
	}
	if _, err := o.EndGroupRole(t.Context(), operator(), o.id, user); err != nil {
		t.Fatal(err)
	}
	byKeys("after she has left")
	if _, err := o.SetMember(t.Context(), withKey(key, o.id), o.id, accounts.Member{
		User: uuid.NewString(), Role: access.Viewer,
	}); err != nil {
		t.Errorf("somebody else by her key: %v", err)
	}
	if _, err := o.SetGroupRole(t.Context(), operator(), o.id, group); err != nil {
		t.Fatal(err)
	}
	if _, err := o.SetMember(
		t.Context(), withKey(o.add(operator()), o.id), o.id, accounts.Member{User: user, Role: access.Owner},
	); err != nil {
		t.Errorf("by a key of the account: %v", err)
	}
	if _, err := o.RemoveMember(t.Context(), operator(), o.id, user); err != nil {
		t.Fatal(err)
	}
	if _, err := o.SetGroupRole(t.Context(), operator(), o.id, group); err != nil {
		t.Fatal(err)
	}
	boss := o.set(access.Owner)
	if _, err := o.SetMember(t.Context(), by(boss), o.id, accounts.Member{User: user, Role: access.Owner}); err != nil {
		t.Errorf("by another owner: %v", err)
	}
	if _, err := o.SetMember(t.Context(), by(user), o.id, accounts.Member{User: user, Role: access.Editor}); err != nil {
		t.Errorf("of a role that was given: %v", err)
	}
}

// TestErasedAccountHasNoMembers checks that nothing changes the members of an erased account: the
// erasure has ended all memberships, and the projection refuses to end one twice.
func TestErasedAccountHasNoMembers(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	byHand, byGroup := o.set(access.Viewer), uuid.NewString()
	member := accounts.Member{User: byGroup, Role: access.Viewer, Group: "staff"}
	if _, err := o.SetGroupRole(t.Context(), operator(), o.id, member); err != nil {
		t.Fatal(err)
	}
	keys := commandstest.NewSealingKeys()
	sealing := accounts.New(streams.New(streams.Config{Store: o.store, Keys: keys, Seal: true}), keys)
	erased, err := sealing.Erase(t.Context(), operator(), "acme")
	if err != nil || len(erased.Account.Members) != 2 {
		t.Fatalf("%+v, %v; want the former members", erased.Account, err)
	}
	if again, err := sealing.Erase(t.Context(), operator(), "acme"); err != nil || len(again.Account.Members) != 2 {
		t.Errorf("a repeat has %+v, %v; want the former members", again.Account, err)
	}
	_, removeErr := o.RemoveMember(t.Context(), operator(), o.id, byHand)
	_, endErr := o.EndGroupRole(t.Context(), operator(), o.id, byGroup)
	_, groupErr := o.SetGroupRole(t.Context(), operator(), o.id, member)
	if err := errors.Join(removeErr, endErr, groupErr); err != nil {
		t.Error(err)
	}
	if _, err := o.SetMember(t.Context(), operator(), o.id, member); domain.KindOf(err) != domain.AccountGone {
		t.Errorf("a new member: %v", err)
	}
	loaded, err := o.store.Load(t.Context(), events.StreamAccount+o.id)
	if err != nil {
		t.Fatal(err)
	}
	if last := loaded[len(loaded)-1].Type; last != "account.erased.v1" {
		t.Errorf("the last event is %s", last)
	}
}

// TestMembersAreLimited fills an account with members.
func TestMembersAreLimited(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	full := make([]events.Event, accounts.MaxMembers)
	for i := range full {
		full[i] = events.MemberSet{User: uuid.NewString(), Role: "viewer", At: commandstest.At}
	}
	commandstest.AppendAll(t, o.store, events.StreamAccount+o.id, 0, full...)
	member := accounts.Member{User: uuid.NewString(), Role: access.Viewer}
	if _, err := o.SetMember(t.Context(), operator(), o.id, member); domain.KindOf(err) != domain.InvalidValue {
		t.Errorf("one more: %v", err)
	}
	known := full[0].(events.MemberSet).User
	if _, err := o.SetMember(t.Context(), operator(), o.id, accounts.Member{User: known, Role: access.Editor}); err != nil {
		t.Errorf("another role for a member: %v", err)
	}
}
