package sessionlist_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/projections/keystore/signedin"
	"linkledger/projections/readmodel"
	"linkledger/queries/lookup"
	"linkledger/queries/queriestest"
	"linkledger/queries/sessionlist"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }

// TestSessions lists sessions of each kind. Those that have ended are in no list.
func TestSessions(t *testing.T) {
	t.Parallel()
	w, ctx := queriestest.NewWorld(t), queriestest.WithTimeout(t)
	if err := w.DB.Keys.Create(ctx); err != nil {
		t.Fatal(err)
	}
	list, began := sessionlist.New(w.DB), queriestest.Noon
	user, former, operator := uuid.New(), uuid.New(), uuid.New()
	nobody, erased := uuid.New(), uuid.New()
	queriestest.Insert(t, w.DB,
		&readmodel.AccountMember{AccountID: w.Account, UserID: user, Role: "viewer", Since: began, Changed: 7},
		&readmodel.AccountMember{
			AccountID: w.Account, UserID: former, Role: "viewer", Since: began, Changed: 8, RemovedAt: began,
		},
		&readmodel.Person{ID: user, KnownAt: began},
		&readmodel.Person{ID: former, KnownAt: began},
		&readmodel.Person{ID: operator, KnownAt: began},
		&readmodel.Person{ID: nobody, KnownAt: began},
		&readmodel.Person{ID: erased, KnownAt: began, Erased: true},
	)
	names := map[uuid.UUID]string{}
	for i, s := range []signedin.Session{
		{Account: w.Account, Key: "k2", Agent: "by key"},
		{Account: w.Account, User: user, MemberAt: 7, Agent: "member"},
		{Operator: true, User: operator, Agent: "operator"},
		{User: nobody, Agent: "nobody"},
		{Account: w.Account, Key: "k3", Agent: "revoked key"},
		{Account: w.Account, User: user, MemberAt: 6, Agent: "other role"},
		{Account: w.Account, User: former, MemberAt: 8, Agent: "former member"},
		{Operator: true, User: erased, Agent: "erased"},
	} {
		id, _, err := w.DB.Keys.StartSession(ctx, s, began.Add(time.Duration(i)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		names[id] = s.Agent
	}
	hour := began.Add(time.Hour)
	ofAccount := func(of sessionlist.Of) func(now time.Time) ([]sessionlist.Session, error) {
		return func(now time.Time) ([]sessionlist.Session, error) { return list.OfAccount(ctx, of, now) }
	}
	operators := func(now time.Time) ([]sessionlist.Session, error) { return list.ForOperators(ctx, now) }
	idOf := func(name string) uuid.UUID {
		for id, n := range names {
			if n == name {
				return id
			}
		}
		return uuid.Nil
	}
	for name, tc := range map[string]struct {
		list func(now time.Time) ([]sessionlist.Session, error)
		now  time.Time
		want []string
	}{
		"account":       {ofAccount(sessionlist.Of{Account: w.Account}), hour, []string{"member", "by key"}},
		"its key":       {ofAccount(sessionlist.Of{Account: w.Account, Key: "k2"}), hour, []string{"by key"}},
		"its person":    {ofAccount(sessionlist.Of{Account: w.Account, User: user}), hour, []string{"member"}},
		"its id":        {ofAccount(sessionlist.Of{Account: w.Account, ID: idOf("by key")}), hour, []string{"by key"}},
		"another's id":  {ofAccount(sessionlist.Of{Account: w.Account, ID: idOf("nobody")}), hour, []string{}},
		"other account": {ofAccount(sessionlist.Of{Account: w.Other}), hour, []string{}},
		"operators":     {operators, hour, []string{"nobody", "operator"}},
		"after a night": {operators, began.Add(signedin.SessionIdle + 150*time.Second), []string{"nobody"}},
		"after a week":  {operators, began.Add(signedin.SessionMax + time.Hour), []string{}},
	} {
		found, err := tc.list(tc.now)
		got := []string{}
		for _, s := range found {
			got = append(got, names[s.ID])
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
	}
	own, err := list.OfAccount(ctx, sessionlist.Of{Account: w.Account, Key: "k2"}, hour)
	if err != nil || len(own) != 1 || own[0].Username != "demo" || own[0].KeyName != "second" || !own[0].Begun.Equal(began) {
		t.Errorf("%+v, %v", own, err)
	}
	if s, err := list.Find(ctx, idOf("operator"), hour); err != nil || !s.Operator || s.User != operator {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := list.Find(ctx, idOf("by key"), hour); !errors.Is(err, lookup.ErrNotFound) {
		t.Errorf("the session of an account: %+v, %v", s, err)
	}
}
