package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/projections/keystore/keyuse"
	"linkledger/queries"
	"linkledger/queries/cache"
)

// keyNamed returns a listed key by its name.
func (c *client) keyNamed(name string) contract.AccountKey {
	c.t.Helper()
	for _, key := range c.must("GET", "/v3/keys", "").Keys {
		if key.Name == name {
			return key
		}
	}
	c.t.Fatalf("no key is named %q", name)
	return contract.AccountKey{}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	first := owner.must("GET", "/v3/keys", "").Keys
	if len(first) != 1 || first[0].Key != "" || first[0].Scopes != nil || first[0].Networks != nil {
		t.Fatalf("the account begins with %+v", first)
	}
	owner.must("POST", "/v3/tags", `{"label":"old"}`)
	added := owner.must("POST", "/v3/keys", `{"name":" report ","scopes":["stats:read","links:read","stats:read"],
		"networks":["192.0.2.77/24","2001:DB8::1","192.0.2.0/24"],"expiration_date":"2026-12-31","tags":" +news&~old "}`)
	key := added.Keys[0]
	if key.Name != "report" || fmt.Sprintf("%v %v %s", key.Scopes, key.Networks, *key.ExpirationDate) !=
		"[links:read stats:read] [192.0.2.0/24 2001:db8::1/128] 2026-12-31" || key.Key == "" || key.LastUsed != nil ||
		*key.Tags != "+news&~old" {
		t.Errorf("added %+v", key)
	}
	listed := owner.keyNamed("report")
	if fmt.Sprint(listed.ID, listed.Scopes, listed.Networks, *listed.ExpirationDate, listed.Key) !=
		fmt.Sprint(key.ID, key.Scopes, key.Networks, *key.ExpirationDate) {
		t.Errorf("listed %+v", listed)
	}
	changed := owner.must("PATCH", "/v3/keys/"+key.ID, `{"name":"","scopes":null,"tags":null,"networks":null,"expiration_date":null}`).Keys[0]
	if changed.Name != "" || changed.Scopes != nil || changed.Networks != nil || changed.ExpirationDate != nil ||
		changed.ID != key.ID || changed.Key != "" || changed.Tags != nil {
		t.Errorf("changed to %+v", changed)
	}
	user := *owner
	user.key = key.Key
	user.must("GET", "/v3/account", "")
	owner.must("DELETE", "/v3/keys/"+key.ID, "")
	owner.must("DELETE", "/v3/keys/"+key.ID, "") // a repeat
	user.call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
	equal(t, "keys that are left", len(owner.must("GET", "/v3/keys", "").Keys), 1)
	owner.call("PATCH", "/v3/keys/"+key.ID, `{"name":"x"}`).is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.call("DELETE", "/v3/keys/none", "").is(http.StatusNotFound, apierror.CodeInvalidResource)
	for body, code := range map[string]apierror.Code{
		`{"tags":"+news&"}`:                           apierror.CodeWrongInput,
		`{"tags":"+news|visited"}`:                    apierror.CodeWrongInput,
		`{"tags":["news"]}`:                           apierror.CodeWrongInput,
		`{"scopes":[]}`:                               apierror.CodeWrongInput,
		`{"scopes":["links:rea"]}`:                    apierror.CodeWrongInput,
		`{"scopes":"links:read"}`:                     apierror.CodeWrongInput,
		`{"scope":["links:read"]}`:                    apierror.CodeWrongInput,
		`{"networks":["192.0.2.0/33"]}`:               apierror.CodeWrongInput,
		`{"networks":["fe80::1%eth0"]}`:               apierror.CodeWrongInput,
		`{"expiration_date":"2026-02-30"}`:            apierror.CodeInvalidDate,
		`{"name":"` + fmt.Sprintf("%0101d", 1) + `"}`: apierror.CodeWrongInput,
	} {
		if a := owner.call("POST", "/v3/keys", body); a.code() != code {
			t.Errorf("%s: %+v", body, a.Error)
		}
	}
}

// TestKeysOfOthers checks that an account cannot see, change or revoke the keys of another.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	alice, bob := s.client(t, "alice"), s.client(t, "bob")
	id := alice.must("GET", "/v3/keys", "").Keys[0].ID
	for _, key := range bob.must("GET", "/v3/keys", "").Keys {
		if key.ID == id {
			t.Errorf("bob sees %+v", key)
		}
	}
	bob.call("PATCH", "/v3/keys/"+id, `{"scopes":["keys"]}`).is(http.StatusNotFound, apierror.CodeInvalidResource)
	bob.call("DELETE", "/v3/keys/"+id, "").is(http.StatusNotFound, apierror.CodeInvalidResource)
	mixed := *bob
	mixed.key = alice.key
	mixed.call("GET", "/v3/account", "").is(http.StatusBadRequest, apierror.CodeInvalidKey)
	alice.must("GET", "/v3/account", "")
}

func TestKeysEndWithTheirDayAndNetwork(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	key := owner.withKey(`"networks":["192.0.2.0/24","2001:db8::/32"],"expiration_date":"2026-05-14"`)
	here := from("192.0.2.7:1", "x")
	key.must("GET", "/v3/account", "", here)
	key.must("GET", "/v3/account", "", from("[2001:db8::7]:1", "x"))
	for _, elsewhere := range []string{"198.51.100.1:1", "[2001:db9::1]:1"} {
		a := key.call("GET", "/v3/account", "", from(elsewhere, "x"), forwarded("192.0.2.7"))
		a.is(http.StatusForbidden, apierror.CodeAccessDenied)
		a.has("address")
	}
	s.at(t, "2026-05-14T23:59:59Z")
	key.must("GET", "/v3/account", "", here)
	s.at(t, "2026-05-15T00:00:00Z")
	key.call("GET", "/v3/account", "", here).is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestAddingAKeyTwice repeats the call that adds a key, also concurrently. One key is added, and one
// answer has it.
func TestAddingAKeyTwice(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	answers := make([]*answer, 8)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() {
			answers[i] = owner.call("POST", "/v3/keys", `{"name":"once"}`, header("Idempotency-Key", "k"))
		})
	}
	calls.Wait()
	shown := 0
	for _, a := range answers {
		a.is(http.StatusOK, apierror.CodeOK)
		if a.Keys[0].ID != answers[0].Keys[0].ID {
			t.Errorf("added %s and %s", a.Keys[0].ID, answers[0].Keys[0].ID)
		}
		if a.Keys[0].Key == "" {
			continue
		}
		shown++
		user := *owner
		user.key = a.Keys[0].Key
		user.must("GET", "/v3/account", "")
	}
	equal(t, "answers with the key", shown, 1)
	equal(t, "keys", len(owner.must("GET", "/v3/keys", "").Keys), 2)
}

func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	var last string
	for range 99 {
		last = owner.must("POST", "/v3/keys", `{}`).Keys[0].ID
	}
	owner.call("POST", "/v3/keys", `{}`).is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.must("DELETE", "/v3/keys/"+last, "")
	owner.must("POST", "/v3/keys", `{}`)
}

// TestRevokedKeysEndAtOnce revokes a key while 64 clients use it on two nodes. No call that begins
// after the answer to the revocation is carried out. The second node gets no notifications at all.
func TestRevokedKeysEndAtOnce(t *testing.T) {
	t.Parallel()
	var second Config
	s := newStack(t, func(cfg *Config) { second = *cfg })
	second.Logins = cache.NewLogins(queries.New(s.db))
	node, err := New(second)
	if err != nil {
		t.Fatal(err)
	}
	owner := s.client(t, "owner")
	added := owner.must("POST", "/v3/keys", `{"scopes":["links:create"]}`).Keys[0]
	endsAtOnce(t, func(i int) func() *answer {
		user := &client{t: t, handler: s.handler, username: "owner", key: added.Key}
		if i%2 == 0 {
			user.handler = node
		}
		return func() *answer { return user.call("POST", "/v3/urls", batch(1)) }
	}, func() { owner.must("DELETE", "/v3/keys/"+added.ID, "") })
}

// endsAtOnce lets 64 users call until each was refused five times. When all calls work, it ends what
// they call with. No call that begins after that may be carried out. user returns the calls of a
// user.
func endsAtOnce(t *testing.T, user func(i int) func() *answer, end func()) {
	t.Helper()
	const users = 64
	var ended atomic.Pointer[time.Time]
	var working, calling sync.WaitGroup
	working.Add(users)
	for i := range users {
		call := user(i)
		calling.Go(func() {
			works, refusals := sync.OnceFunc(working.Done), 0
			for refusals < 5 {
				began := time.Now()
				a := call()
				at := ended.Load()
				switch {
				case a.status == http.StatusOK && at != nil && began.After(*at):
					t.Errorf("a call was carried out %v after the answer", began.Sub(*at))
				case a.status == http.StatusOK:
					works()
				default:
					refusals++
				}
			}
			works()
		})
	}
	working.Wait()
	end()
	answered := time.Now()
	ended.Store(&answered)
	calling.Wait()
}

// TestRevokedKeysAddNoKeys checks that a key cannot outlive its revocation by another key: the
// event store decides between the two.
func TestRevokedKeysAddNoKeys(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	owner := s.client(t, "owner")
	for range 5 {
		added := owner.must("POST", "/v3/keys", `{"scopes":["keys"]}`).Keys[0]
		thief := *owner
		thief.key = added.Key
		var both sync.WaitGroup
		var made []string
		both.Go(func() {
			for {
				a := thief.call("POST", "/v3/keys", `{"scopes":["keys"]}`)
				if a.status != http.StatusOK {
					return
				}
				made = append(made, a.Keys[0].ID)
			}
		})
		both.Go(func() { owner.must("DELETE", "/v3/keys/"+added.ID, "") })
		both.Wait()
		events, err := s.store.Load(withTimeout(t), "account-"+owner.id)
		if err != nil {
			t.Fatal(err)
		}
		if last := events[len(events)-1].Type; last != "account.key_revoked.v1" {
			t.Errorf("the last event is %s", last)
		}
		for _, id := range made {
			owner.must("DELETE", "/v3/keys/"+id, "")
		}
	}
}

func TestLastUseOfKeys(t *testing.T) {
	t.Parallel()
	var uses *keyuse.Uses
	s := newStack(t, func(cfg *Config) {
		cfg.KeyUsed = func(account uuid.UUID, key string) { uses.Used(account, key) }
	})
	uses = keyuse.New(s.db.Pool, slog.New(slog.DiscardHandler))
	owner := s.client(t, "owner")
	user := owner.withKey(`"name":"used"`)
	owner.must("POST", "/v3/keys", `{"name":"never used"}`)
	before := time.Now()
	user.must("GET", "/v3/account", "")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := uses.Run(ended); err != nil {
		t.Fatal(err)
	}
	last := owner.keyNamed("used").LastUsed
	if last == nil {
		t.Fatal("never used")
	}
	if last.Before(before.Truncate(time.Second)) || last.After(time.Now()) {
		t.Errorf("last used %v; want %v", last, before)
	}
	if owner.keyNamed("").LastUsed == nil || owner.keyNamed("never used").LastUsed != nil {
		t.Errorf("keys %+v", owner.must("GET", "/v3/keys", "").Keys)
	}
}
