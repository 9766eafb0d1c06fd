package httpapi_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/projections/keystore/keyuse"
	"linkledger/queries"
	"linkledger/queries/cache"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	first := owner.Must("GET", "/v3/keys", "").Keys
	if len(first) != 1 || first[0].Key != "" || first[0].Scopes != nil || first[0].Networks != nil {
		t.Fatalf("the account begins with %+v", first)
	}
	owner.Must("POST", "/v3/tags", `{"label":"old"}`)
	added := owner.Must("POST", "/v3/keys", `{"name":" report ","scopes":["stats:read","links:read","stats:read"],
		"networks":["192.0.2.77/24","2001:DB8::1","192.0.2.0/24"],"expiration_date":"2026-12-31","tags":" +news&~old "}`)
	key := added.Keys[0]
	if key.Name != "report" || fmt.Sprintf("%v %v %s", key.Scopes, key.Networks, *key.ExpirationDate) !=
		"[links:read stats:read] [192.0.2.0/24 2001:db8::1/128] 2026-12-31" || key.Key == "" || key.LastUsed != nil ||
		*key.Tags != "+news&~old" {
		t.Errorf("added %+v", key)
	}
	listed := owner.KeyNamed("report")
	if fmt.Sprint(listed.ID, listed.Scopes, listed.Networks, *listed.ExpirationDate, listed.Key) !=
		fmt.Sprint(key.ID, key.Scopes, key.Networks, *key.ExpirationDate) {
		t.Errorf("listed %+v", listed)
	}
	changed := owner.Must("PATCH", "/v3/keys/"+key.ID, `{"name":"","scopes":null,"tags":null,"networks":null,"expiration_date":null}`).Keys[0]
	if changed.Name != "" || changed.Scopes != nil || changed.Networks != nil || changed.ExpirationDate != nil ||
		changed.ID != key.ID || changed.Key != "" || changed.Tags != nil {
		t.Errorf("changed to %+v", changed)
	}
	user := *owner
	user.Key = key.Key
	user.Must("GET", "/v3/account", "")
	owner.Must("DELETE", "/v3/keys/"+key.ID, "")
	owner.Must("DELETE", "/v3/keys/"+key.ID, "") // a repeat
	user.Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	httpapitest.Equal(t, "keys that are left", len(owner.Must("GET", "/v3/keys", "").Keys), 1)
	owner.Call("PATCH", "/v3/keys/"+key.ID, `{"name":"x"}`).Is(http.StatusNotFound, apierror.CodeInvalidResource)
	owner.Call("DELETE", "/v3/keys/none", "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
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
		if a := owner.Call("POST", "/v3/keys", body); a.Code() != code {
			t.Errorf("%s: %+v", body, a.Error)
		}
	}
}

// TestKeysOfOthers checks that an account cannot see, change or revoke the keys of another.
func TestKeysOfOthers(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	id := alice.Must("GET", "/v3/keys", "").Keys[0].ID
	for _, key := range bob.Must("GET", "/v3/keys", "").Keys {
		if key.ID == id {
			t.Errorf("bob sees %+v", key)
		}
	}
	bob.Call("PATCH", "/v3/keys/"+id, `{"scopes":["keys"]}`).Is(http.StatusNotFound, apierror.CodeInvalidResource)
	bob.Call("DELETE", "/v3/keys/"+id, "").Is(http.StatusNotFound, apierror.CodeInvalidResource)
	mixed := *bob
	mixed.Key = alice.Key
	mixed.Call("GET", "/v3/account", "").Is(http.StatusBadRequest, apierror.CodeInvalidKey)
	alice.Must("GET", "/v3/account", "")
}

func TestKeysEndWithTheirDayAndNetwork(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	key := owner.WithKey(`"networks":["192.0.2.0/24","2001:db8::/32"],"expiration_date":"2026-05-14"`)
	here := httpapitest.From("192.0.2.7:1", "x")
	key.Must("GET", "/v3/account", "", here)
	key.Must("GET", "/v3/account", "", httpapitest.From("[2001:db8::7]:1", "x"))
	for _, elsewhere := range []string{"198.51.100.1:1", "[2001:db9::1]:1"} {
		a := key.Call("GET", "/v3/account", "", httpapitest.From(elsewhere, "x"), httpapitest.Forwarded("192.0.2.7"))
		a.Is(http.StatusForbidden, apierror.CodeAccessDenied)
		a.Has("address")
	}
	s.SetTime(t, "2026-05-14T23:59:59Z")
	key.Must("GET", "/v3/account", "", here)
	s.SetTime(t, "2026-05-15T00:00:00Z")
	key.Call("GET", "/v3/account", "", here).Is(http.StatusForbidden, apierror.CodeAccessDenied)
}

// TestAddingAKeyTwice repeats the call that adds a key, also concurrently. One key is added, and one
// answer has it.
func TestAddingAKeyTwice(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	answers := make([]*httpapitest.Answer, 8)
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() {
			answers[i] = owner.Call("POST", "/v3/keys", `{"name":"once"}`, httpapitest.Header("Idempotency-Key", "k"))
		})
	}
	calls.Wait()
	shown := 0
	for _, a := range answers {
		a.Is(http.StatusOK, apierror.CodeOK)
		if a.Keys[0].ID != answers[0].Keys[0].ID {
			t.Errorf("added %s and %s", a.Keys[0].ID, answers[0].Keys[0].ID)
		}
		if a.Keys[0].Key == "" {
			continue
		}
		shown++
		user := *owner
		user.Key = a.Keys[0].Key
		user.Must("GET", "/v3/account", "")
	}
	httpapitest.Equal(t, "answers with the key", shown, 1)
	httpapitest.Equal(t, "keys", len(owner.Must("GET", "/v3/keys", "").Keys), 2)
}

func TestKeysAreLimited(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	var last string
	for range 99 {
		last = owner.Must("POST", "/v3/keys", `{}`).Keys[0].ID
	}
	owner.Call("POST", "/v3/keys", `{}`).Is(http.StatusBadRequest, apierror.CodeWrongInput)
	owner.Must("DELETE", "/v3/keys/"+last, "")
	owner.Must("POST", "/v3/keys", `{}`)
}

// TestRevokedKeysEndAtOnce revokes a key while 64 clients use it on two nodes. No call that begins
// after the answer to the revocation is carried out. The second node gets no notifications at all.
func TestRevokedKeysEndAtOnce(t *testing.T) {
	t.Parallel()
	var second httpapi.Config
	s := httpapitest.New(t, func(cfg *httpapi.Config) { second = *cfg })
	second.Logins = cache.NewLogins(queries.New(s.DB))
	node, err := httpapi.New(second)
	if err != nil {
		t.Fatal(err)
	}
	owner := s.Client(t, "owner")
	added := owner.Must("POST", "/v3/keys", `{"scopes":["links:create"]}`).Keys[0]
	httpapitest.EndsAtOnce(t, func(i int) func() *httpapitest.Answer {
		user := &httpapitest.Client{T: t, Handler: s.Server, Username: "owner", Key: added.Key}
		if i%2 == 0 {
			user.Handler = node
		}
		return func() *httpapitest.Answer { return user.Call("POST", "/v3/urls", httpapitest.Batch(1)) }
	}, func() { owner.Must("DELETE", "/v3/keys/"+added.ID, "") })
}

// TestRevokedKeysAddNoKeys checks that a key cannot outlive its revocation by another key: the
// event store decides between the two.
func TestRevokedKeysAddNoKeys(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	owner := s.Client(t, "owner")
	for range 5 {
		added := owner.Must("POST", "/v3/keys", `{"scopes":["keys"]}`).Keys[0]
		thief := *owner
		thief.Key = added.Key
		var both sync.WaitGroup
		var made []string
		both.Go(func() {
			for {
				a := thief.Call("POST", "/v3/keys", `{"scopes":["keys"]}`)
				if a.Status != http.StatusOK {
					return
				}
				made = append(made, a.Keys[0].ID)
			}
		})
		both.Go(func() { owner.Must("DELETE", "/v3/keys/"+added.ID, "") })
		both.Wait()
		events, err := s.Store.Load(httpapitest.WithTimeout(t), "account-"+owner.ID)
		if err != nil {
			t.Fatal(err)
		}
		if last := events[len(events)-1].Type; last != "account.key_revoked.v1" {
			t.Errorf("the last event is %s", last)
		}
		for _, id := range made {
			owner.Must("DELETE", "/v3/keys/"+id, "")
		}
	}
}

func TestLastUseOfKeys(t *testing.T) {
	t.Parallel()
	var uses *keyuse.Uses
	s := httpapitest.New(t, func(cfg *httpapi.Config) {
		cfg.KeyUsed = func(account uuid.UUID, key string) { uses.Used(account, key) }
	})
	uses = keyuse.New(s.DB.Pool, slog.New(slog.DiscardHandler))
	owner := s.Client(t, "owner")
	user := owner.WithKey(`"name":"used"`)
	owner.Must("POST", "/v3/keys", `{"name":"never used"}`)
	before := time.Now()
	user.Must("GET", "/v3/account", "")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := uses.Run(ended); err != nil {
		t.Fatal(err)
	}
	last := owner.KeyNamed("used").LastUsed
	if last == nil {
		t.Fatal("never used")
	}
	if last.Before(before.Truncate(time.Second)) || last.After(time.Now()) {
		t.Errorf("last used %v; want %v", last, before)
	}
	if owner.KeyNamed("").LastUsed == nil || owner.KeyNamed("never used").LastUsed != nil {
		t.Errorf("keys %+v", owner.Must("GET", "/v3/keys", "").Keys)
	}
}
