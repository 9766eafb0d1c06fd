package urls_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"linkledger/commands/domain"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/response"
)

func TestOneWinnerOfAHash(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	alice, bob := s.Client(t, "alice"), s.Client(t, "bob")
	const callers = 32
	answers := make([]*httpapitest.Answer, callers)
	httpapitest.Together(callers, func(i int) {
		c := alice
		if i%2 == 1 {
			c = bob
		}
		answers[i] = c.Call(
			"POST", "/v3/urls",
			fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"prize"}]}`, i),
		)
	})
	winner := -1
	for i, a := range answers {
		a.Is(http.StatusOK, apierror.CodeOK)
		if a.URLs[0].Code() == apierror.CodeOK {
			if winner >= 0 {
				t.Errorf("%d and %d both won", winner, i)
			}
			winner = i
			continue
		}
		a.URLs[0].Failed(t, apierror.CodeHashUnavailable, "in use")
	}
	if winner < 0 {
		t.Fatal("no call won")
	}
	httpapitest.Equal(
		t, "Location", s.Visit(t, "GET", "/prize").Header.Get("Location"),
		fmt.Sprintf("https://example.com/%d", winner),
	)
	httpapitest.Equal(
		t, "URLs of both",
		alice.Must("GET", "/v3/urls", "").Page.TotalCount+bob.Must("GET", "/v3/urls", "").Page.TotalCount, 1,
	)
}

func TestRepeatedWrites(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, other := s.Client(t, "alice"), s.Client(t, "bob")
	key := httpapitest.Header("Idempotency-Key", "key-1")
	body := `{"urls":[{"long_url":"https://example.com/1"},{"long_url":"https://example.com/2","custom_hash":"two","tags":["t"]},{"note":"x"}]}`
	first := c.Call("POST", "/v3/urls", body, key)
	generated := first.URLs[0].Hash
	s.Visit(t, "GET", "/two")
	s.CatchUp(t)
	again := c.Call("POST", "/v3/urls/", body, key)
	httpapitest.Equal(t, "generated hash", again.URLs[0].Hash, generated)
	httpapitest.Equal(t, "custom hash", again.URLs[1].Hash, "two")
	httpapitest.Equal(t, "tags", strings.Join(again.URLs[1].Tags, ","), "t")
	httpapitest.Equal(t, "clicks", again.URLs[1].TotalClicks, 1)
	again.URLs[2].Failed(t, apierror.CodeMissingInput, "long_url")
	httpapitest.Equal(t, "position", again.Header.Get("X-Event-Position"), first.Header.Get("X-Event-Position"))
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 2)

	fresh := other.Call("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1"}]}`, key).URLs[0]
	if fresh.Hash == generated {
		t.Error("another account's key is treated as the same command")
	}
	if next := c.Call("POST", "/v3/urls", body, httpapitest.Header("Idempotency-Key", "key-2")); next.URLs[0].Hash == generated {
		t.Error("another key is treated as the same command")
	}

	rename := `{"urls":[{"custom_hash":"three"}]}`
	for range 2 {
		httpapitest.Equal(
			t, "renamed", c.Must("PATCH", "/v3/urls/two", rename, httpapitest.Header("Idempotency-Key", "key-rename")).URLs[0].Hash,
			"three",
		)
	}
	for range 2 {
		c.Must("DELETE", "/v3/urls/three", "", httpapitest.Header("Idempotency-Key", "key-delete"))
	}
	c.Call("DELETE", "/v3/urls/three", "", httpapitest.Header("Idempotency-Key", "key-3")).Is(
		http.StatusNotFound, apierror.CodeURLNotFound,
	)
	for range 2 {
		c.Must("DELETE", "/v3/tags/t", "", httpapitest.Header("Idempotency-Key", "key-tag"))
	}
	c.Call("DELETE", "/v3/tags/t", "").Is(http.StatusNotFound, apierror.CodeTagNotFound)

	var hashes sync.Map
	httpapitest.Together(8, func(int) {
		a := c.Call(
			"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/"}]}`, httpapitest.Header("Idempotency-Key", "racing"),
		)
		hashes.Store(a.URLs[0].Hash, true)
	})
	n := 0
	hashes.Range(func(any, any) bool { n++; return true })
	httpapitest.Equal(t, "different links", n, 1)

	for _, wrong := range []string{"a b", "ü", strings.Repeat("k", 256)} {
		c.Call("POST", "/v3/tags", `{"label":"x"}`, httpapitest.Header("Idempotency-Key", wrong)).Is(
			http.StatusBadRequest, apierror.CodeWrongInput,
		)
	}
	c.Must("POST", "/v3/tags", `{"label":"x"}`, httpapitest.Header("Idempotency-Key", strings.Repeat("k", 255)))
}

// TestIdempotencyKeysAreThoseOfOneCall checks that another call under a used Idempotency-Key is
// refused on every node, changes nothing and returns nothing of the first call's response.
func TestIdempotencyKeysAreThoseOfOneCall(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, bob := s.Client(t, "alice"), s.Client(t, "bob")
	c.Create(`"long_url":"https://example.com/0","custom_hash":"zero","tags":["t"]`)
	key := httpapitest.Header("Idempotency-Key", "f0e1d2c3")
	first := c.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"}]}`, key)
	label := httpapitest.Header("Idempotency-Key", "label")
	c.Must("POST", "/v3/tags", `{"label":"first"}`, label)
	form := httpapitest.Header("Content-Type", "application/x-www-form-urlencoded")
	same := `{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"}]}`

	other := httpapitest.NewOn(t, s.Events)
	other.CatchUp(t)
	there := &httpapitest.Client{T: t, Handler: other.Server, Username: c.Username, Key: c.Key}
	for _, node := range []*httpapitest.Client{c, there} {
		for _, tc := range []struct {
			method, path, body string
			changes            []httpapitest.With
		}{
			{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/2","custom_hash":"one"}]}`, []httpapitest.With{key}},
			{"POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/1","custom_hash":"two"}]}`, []httpapitest.With{key}},
			{
				"POST", "/v3/urls",
				`{"urls":[{"long_url":"https://example.com/1","custom_hash":"one"},{"long_url":"https://example.com/2"}]}`,
				[]httpapitest.With{key},
			},
			{"POST", "/v3/urls?disable_long_url_duplicates=1", same, []httpapitest.With{key}},
			{"PATCH", "/v3/urls/zero", same, []httpapitest.With{key}},
			{"DELETE", "/v3/urls/zero", "", []httpapitest.With{key}},
			{"DELETE", "/v3/urls?hashes=zero", "", []httpapitest.With{key}},
			{"DELETE", "/v3/stats?tags=t", "", []httpapitest.With{key}},
			{"POST", "/v3/urls/zero/restore", `{"version":0}`, []httpapitest.With{key}},
			{"POST", "/v3/batches/" + first.Header.Get(response.HeaderBatchID) + "/undo", "", []httpapitest.With{key}},
			{"POST", "/v3/urls", "urls[0][long_url]=https://example.com/3&urls[0][custom_hash]=one", []httpapitest.With{key, form}},
			{"POST", "/v3/tags", `{"label":"second"}`, []httpapitest.With{label}},
			{"PATCH", "/v3/tags/first", `{"label":"first"}`, []httpapitest.With{label}},
		} {
			a := node.Call(tc.method, tc.path, tc.body, tc.changes...)
			a.Is(http.StatusBadRequest, apierror.CodeWrongInput)
			a.Has("Idempotency-Key")
			httpapitest.Equal(t, "URLs in the answer", len(a.URLs), 0)
			httpapitest.Equal(t, "batch", a.Header.Get(response.HeaderBatchID), "")
		}
		again := node.Must("POST", "/v3/urls/", " "+same, key)
		httpapitest.Equal(t, "position of a repeat", again.Header.Get("X-Event-Position"), first.Header.Get("X-Event-Position"))
		httpapitest.Equal(t, "label of a repeat", node.Must("POST", "/v3/tags", `{"label":"first"}`, label).Tags[0].Label, "first")
		httpapitest.Equal(t, "URLs", node.Must("GET", "/v3/urls", "").Page.TotalCount, 2)
		httpapitest.Equal(t, "tags", len(node.Must("GET", "/v3/tags", "").Tags), 2)
		httpapitest.Equal(t, "long_url", *node.Read("zero").LongURL, "https://example.com/0")
	}
	bob.Must("POST", "/v3/tags", `{"label":"second"}`, label)
}

// TestCallsThatRaceUnderOneKey checks that concurrent calls under one key succeed only if they have the same content.
func TestCallsThatRaceUnderOneKey(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	var carriedOut atomic.Int32
	httpapitest.Together(16, func(i int) {
		a := c.Call("POST", "/v3/tags", fmt.Sprintf(`{"label":"tag%d"}`, i/2), httpapitest.Header("Idempotency-Key", "racing"))
		if a.Status == http.StatusOK {
			carriedOut.Add(1)
			return
		}
		a.Is(http.StatusBadRequest, apierror.CodeWrongInput)
	})
	httpapitest.Equal(t, "calls carried out", carriedOut.Load(), 2)
	httpapitest.Equal(t, "tags", len(c.Must("GET", "/v3/tags", "").Tags), 1)
}

// TestRepeatsInOtherSpellings checks that a form with another boundary is the same call, and so is
// equal JSON in another notation.
func TestRepeatsInOtherSpellings(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	key := httpapitest.Header("Idempotency-Key", "form")
	hash := ""
	for _, boundary := range []string{"first", "second"} {
		var body strings.Builder
		for _, field := range [][2]string{
			{"urls[0][long_url]", "https://example.com/"},
			{"urls[0][tags][]", "a"},
			{"urls[0][tags]", "b"},
			{"urls[0][tags][]", "c"},
		} {
			fmt.Fprintf(
				&body, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, field[0], field[1],
			)
		}
		a := c.Must(
			"POST", "/v3/urls", body.String()+"--"+boundary+"--\r\n", key,
			httpapitest.Header("Content-Type", "multipart/form-data; boundary="+boundary),
		)
		if hash != "" {
			httpapitest.Equal(t, "hash of the repeat", a.URLs[0].Hash, hash)
		}
		hash = a.URLs[0].Hash
	}
	json := httpapitest.Header("Idempotency-Key", "json")
	hash = c.Must("POST", "/v3/urls", `{"urls":[{"long_url":"https://example.com/","note":"x"}]}`, json).URLs[0].Hash
	httpapitest.Equal(
		t, "hash",
		c.Must(
			"POST", "/v3/urls", `{ "urls": [ { "note":"\u0078", "long_url": "https:\/\/example.com/" } ] }`, json,
		).URLs[0].Hash,
		hash,
	)
}

// TestRepeatOfACallThatWasCutOff checks that a repeated call does all of its work if the process
// ended after it recorded the key and before it did anything else.
func TestRepeatOfACallThatWasCutOff(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	body := `{"urls":[{"long_url":"https://example.com/","custom_hash":"one"}]}`
	var payload any
	if err := json.Unmarshal([]byte(body), &payload); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal([]any{"POST", "/v3/urls", "", payload})
	if err != nil {
		t.Fatal(err)
	}
	command := uuid.NewSHA1(uuid.MustParse(c.ID), []byte("POST\n/v3/urls\ncut-off"))
	if err := s.Commands.KeyCall(
		httpapitest.WithTimeout(t), domain.Request{Account: c.ID, Command: command}, "cut-off", content,
	); err != nil {
		t.Fatal(err)
	}
	c.Call("POST", "/v3/urls", strings.Replace(body, "one", "two", 1), httpapitest.Header("Idempotency-Key", "cut-off")).Is(
		http.StatusBadRequest, apierror.CodeWrongInput,
	)
	c.Must("POST", "/v3/urls", body, httpapitest.Header("Idempotency-Key", "cut-off"))
	httpapitest.Equal(t, "long_url", *c.Read("one").LongURL, "https://example.com/")
	httpapitest.Equal(t, "URLs", c.Must("GET", "/v3/urls", "").Page.TotalCount, 1)
}
