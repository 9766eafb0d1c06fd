package sessionadmin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/internal/installation"
	"linkledger/internal/installation/installationtest"
	"linkledger/internal/sessionadmin"
	"linkledger/internal/signinlink"
	"linkledger/queries/accountlist"
)

func TestMain(m *testing.M) { installationtest.Main(m) }

type (
	command  = installationtest.Command
	operator = installation.Operator
)

func TestSessions(t *testing.T) { //nolint:tparallel // its cases share one installation
	t.Parallel()
	i := installationtest.New(t)
	ada := i.Known("Ada")
	start := func(s accountlist.NewSession) string {
		id, _, err := i.DB.Keys.StartSession(t.Context(), s, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return id.String()
	}
	person := start(accountlist.NewSession{Operator: true, User: uuid.MustParse(ada), Agent: "Firefox"})
	key := i.Acme.Account.Keys[0].ID
	byKey := start(accountlist.NewSession{Operator: true, Account: uuid.MustParse(i.Acme.Account.ID), Key: key})
	member := start(accountlist.NewSession{Account: uuid.MustParse(i.Acme.Account.ID), Key: key})
	var listed []struct {
		ID, Username, Key, User, Agent string
		Operator                       bool
		UserName                       string `json:"user_name"`
	}
	if err := i.JSON(&listed, sessionadmin.ListSessions); err != nil || len(listed) != 2 {
		t.Fatalf("listed %+v, %v", listed, err)
	}
	for _, s := range listed {
		switch s.ID {
		case person:
			if !s.Operator || s.User != ada || s.UserName != "Ada" || s.Agent != "Firefox" || s.Key != "" {
				t.Errorf("listed is %+v", s)
			}
		case byKey:
			if s.Username != "acme" || s.Key != key || s.User != "" {
				t.Errorf("listed is %+v", s)
			}
		}
	}
	i.Run(sessionadmin.ListSessions).Has("browser\tbegan\tlast used\n", person+"\ttrue\t\t"+ada+"\tAda\t")
	end := func(id string) command {
		return func(ctx context.Context, o operator) error { return sessionadmin.EndSession(ctx, o, id) }
	}
	i.Run(end(person)).Has("the session " + person + " has ended")
	if out := i.Run(sessionadmin.ListSessions).Has(byKey); strings.Contains(out, person) {
		t.Errorf("a session that has ended is listed\n%s", out)
	}
	for name, id := range map[string]string{ //nolint:paralleltest // in one installation
		"ended": person, "of a member": member, "unknown": uuid.NewString(), "no id": "x",
	} {
		t.Run(name, func(t *testing.T) { i.Run(end(id)).Refused("console session list shows the ids") })
	}
}

// TestSignInLink checks what links are printed, and for which keys.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	i := installationtest.New(t)
	link := func(base string, wanted signinlink.Wanted) command {
		wanted.ValidFor = time.Hour
		return func(ctx context.Context, o operator) error { return sessionadmin.MakeSignInLink(ctx, o, wanted, base) }
	}
	i.Run(link("https://sho.rt/", signinlink.Wanted{Operator: true})).
		Has("https://sho.rt/console/sign-in/", "\n\nIt works once, until 2")
	var made struct {
		Link    string
		Expires time.Time
	}
	err := i.JSON(&made, link("https://sho.rt", signinlink.Wanted{Username: "acme"}))
	if left := time.Until(made.Expires); err != nil || !strings.HasPrefix(made.Link, "https://sho.rt/console/sign-in/") ||
		left > time.Hour || left < 50*time.Minute {
		t.Errorf("made %+v, %v", made, err)
	}
	i.Run(link("", signinlink.Wanted{Operator: true})).Refused("--base-url")
	i.Run(link("x", signinlink.Wanted{Username: "none"})).Refused(`there is no account "none"`)
	i.Run(link("x", signinlink.Wanted{Username: "acme", Key: "none"})).Refused(`"none" is not a key of the account`)
}
