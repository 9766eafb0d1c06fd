package accountadmin_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/internal/accountadmin"
	"linkledger/internal/installation"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/sessionadmin"
	"linkledger/queries/accountlist"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

type (
	command  = installationtest.Command
	operator = installation.Operator
)

// shownAccount is an account as commands print it.
type shownAccount struct {
	ID, Username, Plan, Expires string
	Active, Erased              bool
	KeyID                       string `json:"key_id"`
	APIKey                      string `json:"api_key"`
	URLs                        int64  `json:"urls"`
	MonthURLs                   int64  `json:"month_urls"`
}

// account runs a command that prints an account.
func account(t *testing.T, i *installationtest.Installation, run command) shownAccount {
	t.Helper()
	var shown shownAccount
	if err := i.JSON(&shown, run); err != nil {
		t.Error(err)
	}
	return shown
}

func show(ctx context.Context, o operator) error { return accountadmin.Show(ctx, o, "ada") }

func TestAccounts(t *testing.T) { //nolint:tparallel // its cases share one installation
	t.Parallel()
	i := installationtest.New(t)
	opened := account(t, i, func(ctx context.Context, o operator) error {
		return accountadmin.Open(ctx, o, "ada", "pro")
	})
	if opened.Plan != "pro" || opened.Username != "ada" || !opened.Active || !strings.HasPrefix(opened.APIKey, "lk_") {
		t.Errorf("opened %+v", opened)
	}
	rotated := account(t, i, func(ctx context.Context, o operator) error {
		return accountadmin.RotateKey(ctx, o, "ada")
	})
	if rotated.APIKey == "" || rotated.APIKey == opened.APIKey || rotated.KeyID == opened.KeyID {
		t.Errorf("rotated %+v", rotated)
	}
	for name, tc := range map[string]struct {
		plan, day *string
		want      shownAccount
	}{
		"1 both": {new("free"), new("2999-12-31"), shownAccount{Plan: "free", Expires: "2999-12-31"}},
		"2 day":  {nil, new(""), shownAccount{Plan: "free"}},
		"3 plan": {new("pro"), nil, shownAccount{Plan: "pro"}},
	} {
		t.Run(name, func(t *testing.T) {
			// Each case says all that it changes.
			edited := account(t, i, func(ctx context.Context, o operator) error {
				return accountadmin.Edit(ctx, o, "acme", tc.plan, tc.day)
			})
			if tc.plan != nil && edited.Plan != tc.want.Plan || tc.day != nil && edited.Expires != tc.want.Expires {
				t.Errorf("edited %+v; want %+v", edited, tc.want)
			}
		})
	}
	for active, change := range map[bool]func(context.Context, operator, string) error{
		false: accountadmin.Deactivate, true: accountadmin.Reactivate,
	} {
		changed := account(t, i, func(ctx context.Context, o operator) error { return change(ctx, o, "ada") })
		if shown := account(t, i, show); changed.Active != active || shown.Active != active {
			t.Errorf("active is %t, and shown as %t; want %t", changed.Active, shown.Active, active)
		}
	}
	i.Run(show).Has("user name", "ada", "never", "links created this month", "API calls today")
	i.Run(accountadmin.List).Has("acme", "ada", "ACCOUNT ID", opened.ID)
	var listed []shownAccount
	if err := i.JSON(&listed, accountadmin.List); err != nil || len(listed) != 2 || listed[0].APIKey != "" {
		t.Errorf("listed %+v, %v", listed, err)
	}
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.Open(ctx, o, "eve", "free") }).
		Has("API key", "lk_", "shown once")
	for name, run := range map[string]command{ //nolint:paralleltest // in one installation
		`There is already an account "ada"`: func(ctx context.Context, o operator) error {
			return accountadmin.Open(ctx, o, "ada", "free")
		},
		`there is no account "none"`: func(ctx context.Context, o operator) error {
			return accountadmin.Show(ctx, o, "none")
		},
		`There is no account "gone"`: func(ctx context.Context, o operator) error {
			return accountadmin.Deactivate(ctx, o, "gone")
		},
	} {
		i.Run(run).Refused(name)
	}
}

// TestCountsOfAnAccount checks that an account is shown with its links.
func TestCountsOfAnAccount(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.Create(installationtest.Link("one"), installationtest.Link("two"))
	i.Delete("two")
	shown := account(t, i, func(ctx context.Context, o operator) error { return accountadmin.Show(ctx, o, "acme") })
	if shown.URLs != 1 || shown.MonthURLs != 2 {
		t.Errorf("shown %+v", shown)
	}
}

type shownKey struct {
	ID, Name, Tags, Expires string
	Scopes, Networks        []string
	LastUsed                *time.Time `json:"last_used"`
	APIKey                  string     `json:"api_key"`
}

func TestKeys(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	add := func(terms accountadmin.KeyTerms) command {
		return func(ctx context.Context, o operator) error { return accountadmin.AddKey(ctx, o, "acme", terms) }
	}
	list := func(ctx context.Context, o operator) error { return accountadmin.ListKeys(ctx, o, "acme") }
	revoke := func(id string) command {
		return func(ctx context.Context, o operator) error { return accountadmin.RevokeKey(ctx, o, "acme", id) }
	}
	terms := accountadmin.KeyTerms{
		Name: "form", Scopes: []string{"links:create", "stats:read"}, Networks: []string{"192.0.2.0/24"},
		Tags: "news", Expires: "2999-12-31",
	}
	var added shownKey
	if err := i.JSON(&added, add(terms)); err != nil || !strings.HasPrefix(added.APIKey, "lk_") ||
		added.Name != "form" || added.Expires != "2999-12-31" || !slices.Equal(added.Scopes, terms.Scopes) {
		t.Errorf("added %+v, %v", added, err)
	}
	i.Run(add(terms)).Has("API key", "lk_", "links:create, stats:read", "192.0.2.0/24", "news", "shown once")
	i.Run(add(accountadmin.KeyTerms{Name: "free"})).Has("all links", "never")
	used := time.Date(2026, 5, 14, 12, 0, 0, 0, time.UTC)
	i.Exec(`INSERT INTO linkledger_durable.key_uses (account_id, key_id, last_used) VALUES (?, ?, ?)`,
		i.Acme.Account.ID, added.ID, used)
	table := i.Run(list).Has("form", "links:create", "192.0.2.0/24", "2999-12-31", "2026-05-14 12:00:00", "all links", "never")
	if strings.Contains(table, "lk_") {
		t.Errorf("the list shows keys\n%s", table)
	}
	i.Run(revoke(added.ID)).Has("the key " + added.ID + " of acme is revoked")
	var listed []shownKey
	err := i.JSON(&listed, list)
	if err != nil || len(listed) != 3 || slices.ContainsFunc(listed, func(k shownKey) bool { return k.ID == added.ID }) {
		t.Errorf("listed %+v, %v", listed, err)
	}
	i.Run(revoke("none")).Refused(`There is no key "none"`)
	i.Run(add(accountadmin.KeyTerms{Scopes: []string{"x"}})).Refused("links:read")
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.ListKeys(ctx, o, "none") }).
		Refused(`there is no account "none"`)
}

type shownMember struct{ ID, Name, Mail, Role, Group string }

func TestMembers(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	ada := i.Known("Ada")
	set := func(user, role string) command {
		return func(ctx context.Context, o operator) error { return accountadmin.SetMember(ctx, o, "acme", user, role) }
	}
	remove := func(user string) command {
		return func(ctx context.Context, o operator) error { return accountadmin.RemoveMember(ctx, o, "acme", user) }
	}
	list := func(ctx context.Context, o operator) error { return accountadmin.ListMembers(ctx, o, "acme") }
	i.Run(set(ada, "editor")).Has(ada + " is editor of acme")
	var listed []shownMember
	want := shownMember{ID: ada, Name: "Ada", Mail: "ada@example.com", Role: "editor"}
	if err := i.JSON(&listed, list); err != nil || len(listed) != 1 || listed[0] != want {
		t.Errorf("listed %+v, %v", listed, err)
	}
	i.Run(list).Has("id\tname\tmail\trole\tgroup\tsince\n" + ada + "\tAda\tada@example.com\teditor\t\t2")
	i.Run(remove(ada)).Has(ada + " is no member of acme any more")
	if out := i.Run(list).Has("id\tname"); strings.Contains(out, ada) {
		t.Errorf("a former member is listed\n%s", out)
	}
	i.Run(remove(ada)).Refused("There is no member")
	i.Run(set("x", "editor")).Refused("linkledger person list shows the ids")
	i.Run(remove("x")).Refused("linkledger person list shows the ids")
	i.Run(set(ada, "cook")).Refused("cook")
	i.Run(set(uuid.NewString(), "editor")).Refused("There is no person")
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.ListMembers(ctx, o, "none") }).
		Refused(`there is no account "none"`)
}

// TestErasedPerson erases a person with a membership and a session.
func TestErasedPerson(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	ada, eve := i.Known("Ada"), i.Known("Eve")
	employ(t, i, "acme", ada)
	session, _, err := i.DB.Keys.StartSession(t.Context(), accountlist.NewSession{User: uuid.MustParse(ada)}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var people []struct{ ID, Name, Mail, Issuer, Subject string }
	if err := i.JSON(&people, accountadmin.ListPeople); err != nil || len(people) != 2 || people[0].Name != "Ada" ||
		people[0].Subject != "ada" || people[0].Issuer != "https://id.example" || people[1].ID != eve {
		t.Errorf("listed %+v, %v", people, err)
	}
	erase := func(id string) command {
		return func(ctx context.Context, o operator) error { return accountadmin.ErasePerson(ctx, o, id) }
	}
	for range 2 { // a repeat does what is left
		i.Run(erase(ada)).Has("the person " + ada + " is erased")
	}
	out := i.Run(accountadmin.ListPeople).Has("known since", "Eve\teve@example.com")
	if strings.Contains(out, "Ada") || strings.Contains(out, ada) {
		t.Errorf("an erased person is listed\n%s", out)
	}
	members := i.Run(func(ctx context.Context, o operator) error { return accountadmin.ListMembers(ctx, o, "acme") })
	if strings.Contains(members.Out, ada) {
		t.Errorf("an erased person is a member\n%s", members.Out)
	}
	end := func(ctx context.Context, o operator) error { return sessionadmin.EndSession(ctx, o, session.String()) }
	i.Run(end).Refused("there is no session") // it has ended
	i.Run(erase(uuid.NewString())).Refused("There is no person")
	i.Run(erase("x")).Refused("is not the id of a person")
}

func employ(t *testing.T, i *installationtest.Installation, username, user string) {
	t.Helper()
	i.Run(func(ctx context.Context, o operator) error {
		return accountadmin.SetMember(ctx, o, username, user, "editor")
	}).Has(" is editor of ")
}

// TestErasedAccount erases an account: its notes and the persons who are members of no other account.
func TestErasedAccount(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	i.Open("other")
	only, both := i.Known("Only"), i.Known("Both")
	employ(t, i, "acme", only)
	employ(t, i, "acme", both)
	employ(t, i, "other", both)
	link := installationtest.Link("one")
	link.Note = "a secret"
	i.Create(link)
	notes := func() (n int) {
		i.AwaitLevel()
		if err := i.DB.NewRaw("SELECT count(*) FROM linkledger.links WHERE note = 'a secret'").
			Scan(t.Context(), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if notes() != 1 {
		t.Fatal("the read model lacks the note")
	}
	for range 2 { // a repeat does what is left
		erased := account(t, i, func(ctx context.Context, o operator) error { return accountadmin.Erase(ctx, o, "acme") })
		if !erased.Erased {
			t.Errorf("erased %+v", erased)
		}
	}
	if n := notes(); n > 0 {
		t.Errorf("%d notes are left", n)
	}
	people := i.Run(accountadmin.ListPeople).Has("Both")
	if strings.Contains(people, "Only") {
		t.Errorf("a member of no other account is known\n%s", people)
	}
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.Show(ctx, o, "acme") }).Has("erased")
	i.Run(func(ctx context.Context, o operator) error { return accountadmin.Erase(ctx, o, "none") }).
		Refused(`There is no account "none"`)
}
