package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/internal/apiclient"
	"linkledger/httpapi/openapi"
	"linkledger/httpapi/response"
)

// generated is the client that oapi-codegen generates from the description, connected to a stack.
type generated struct {
	*apiclient.ClientWithResponses

	t   *testing.T
	ctx context.Context //nolint:containedctx // the test's context, for all calls
}

// newGenerated returns a generated client for a path of a server.
func newGenerated(t *testing.T, server *httptest.Server, path string, as *client) generated {
	t.Helper()
	httpClient := server.Client()
	httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	api, err := apiclient.NewClientWithResponses(server.URL+path, apiclient.WithHTTPClient(httpClient),
		apiclient.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.SetBasicAuth(as.username, as.key)
			return nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	return generated{ClientWithResponses: api, t: t, ctx: withTimeout(t)}
}

// succeed returns the response of a call, and ends the test if the call failed.
func succeed[R interface{ StatusCode() int }](response R, err error) func(t *testing.T) R {
	return func(t *testing.T) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode() != http.StatusOK {
			t.Fatalf("answered %d", response.StatusCode())
		}
		return response
	}
}

func TestGeneratedClientIsCurrent(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("internal/apiclient/openapi.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(openapi.Source())
	if !strings.HasPrefix(string(recorded), hex.EncodeToString(sum[:])) {
		t.Error("the generated client is not that of openapi.json: go generate ./httpapi/internal/apiclient")
	}
}

func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	account := s.client(t, "alice")
	api := newGenerated(t, server, openapi.Root, account)

	created := succeed(api.CreateURLsWithResponse(api.ctx, nil, apiclient.NewURLs{Urls: []apiclient.NewURL{
		{LongUrl: "https://example.com/1", CustomHash: new("one"), Tags: &[]string{"news", "mail"}},
		{LongUrl: "https://example.com/2", CustomHash: new("")},
		{LongUrl: "ftp://example.com/", CustomHash: new("three")},
	}}))(t).JSON200.Urls
	one, err := created[0].AsURL()
	if err != nil || one.Hash != "one" || one.Error.Code != 0 || strings.Join(one.Tags, ",") != "news,mail" {
		t.Errorf("created %+v, %v", one, err)
	}
	failed, err := created[2].AsFailedURL()
	if err != nil || *failed.CustomHash != "three" || failed.Error.Code != int(apierror.CodeInvalidURL) ||
		failed.Error.Details == "" {
		t.Errorf("refused %+v, %v", failed, err)
	}
	api.reads(account.username)
	api.edits()
	api.undoes()

	visitor := newGenerated(t, server, "", account)
	redirect, err := visitor.RedirectWithResponse(api.ctx, "one")
	if err != nil || redirect.StatusCode() != http.StatusFound ||
		redirect.HTTPResponse.Header.Get("Location") != "https://example.com/1" {
		t.Errorf("redirect %+v, %v", redirect, err)
	}
	size := apiclient.Big
	image := succeed(visitor.ReadQRCodeWithResponse(api.ctx, "one", &apiclient.ReadQRCodeParams{Size: &size}))(t)
	equal(t, "image", http.DetectContentType(image.Body), "image/png")

	account.key = "wrong"
	refused, err := api.ReadAccountWithResponse(api.ctx, nil)
	if err != nil || refused.StatusCode() != http.StatusBadRequest ||
		refused.JSONDefault.Error.Code != int(apierror.CodeInvalidKey) {
		t.Errorf("refused %+v, %v", refused, err)
	}
}

// reads reads two URLs, one of which has the hash "one".
func (api generated) reads(username string) {
	api.t.Helper()
	account := succeed(api.ReadAccountWithResponse(api.ctx, nil))(api.t).JSON200.Account
	equal(api.t, "user name", account.Username, username)
	equal(api.t, "URLs", account.Counters["urls"].Count, 2)
	domains := succeed(api.ListDomainsWithResponse(api.ctx, nil))(api.t).JSON200.Domains
	equal(api.t, "domain", domains[0].Domain, shortHost)

	order := apiclient.ListURLsParamsOrderByMinusClicks
	page := succeed(
		api.ListURLsWithResponse(
			api.ctx, &apiclient.ListURLsParams{Limit: new(1), OrderBy: &order, Domain: new(shortHost)},
		),
	)(api.t)
	equal(api.t, "total", page.JSON200.Page.TotalCount, 2)
	equal(api.t, "results", len(page.JSON200.Urls), 1)
	for expression, want := range map[string]int{"+news&+mail": 1, "news|~mail": 2, "(+news,~mail)": 0} {
		found := succeed(api.ListURLsWithResponse(api.ctx, &apiclient.ListURLsParams{Tags: &expression}))(api.t)
		equal(api.t, expression, len(found.JSON200.Urls), want)
	}
	read := succeed(api.ReadURLWithResponse(api.ctx, "one", nil))(api.t).JSON200.Urls[0]
	if read.LongUrl != "https://example.com/1" || read.LastVisit != nil || read.Error != nil {
		api.t.Errorf("read %+v", read)
	}
	missing, err := api.ReadURLWithResponse(api.ctx, "missing", nil)
	if err != nil || missing.StatusCode() != http.StatusNotFound ||
		missing.JSONDefault.Error.Code != int(apierror.CodeURLNotFound) {
		api.t.Errorf("missing %+v, %v", missing, err)
	}
	equal(
		api.t, "stats", succeed(api.ReadStatsWithResponse(api.ctx, "one", nil))(api.t).JSON200.Stats[0].TotalClicks, 0,
	)
	equal(
		api.t, "dimensions",
		succeed(api.ReadDimensionsWithResponse(api.ctx, "one", nil))(api.t).JSON200.Dimensions.Hash, "one",
	)
	history := succeed(api.ReadHistoryWithResponse(api.ctx, "one", nil))(api.t).JSON200.History
	equal(api.t, "lives", len(history.Links), 1)
}

// edits edits URLs and tags, with and without forms.
func (api generated) edits() {
	api.t.Helper()
	form := succeed(api.CreateURLsWithFormdataBodyWithResponse(api.ctx, nil, apiclient.NewURLs{Urls: []apiclient.NewURL{
		{
			LongUrl: "https://example.com/form?a=b&c=d", CustomHash: new("form"), Tags: &[]string{"a", "b"},
			EmailStats: new(true), MaxClicks: new(5),
		},
	}}))(api.t)
	made, err := form.JSON200.Urls[0].AsURL()
	if err != nil || made.LongUrl != "https://example.com/form?a=b&c=d" || len(made.Tags) != 2 || !made.EmailStats ||
		made.MaxClicks != 5 {
		api.t.Errorf("creation by form: %+v, %v", made, err)
	}
	edited := succeed(
		api.EditURLWithResponse(
			api.ctx, "form", nil,
			apiclient.OneURLEdit{Urls: []apiclient.URLEdit{{Note: new("x"), Tags: &[]string{"-a"}}}},
		),
	)(api.t)
	if made, err = edited.JSON200.Urls[0].AsURL(); err != nil || made.Note != "x" || len(made.Tags) != 1 {
		api.t.Errorf("edited %+v, %v", made, err)
	}
	method := apiclient.CreateURLsParamsXHTTPMethodOverridePATCH
	overridden := succeed(api.CreateURLsWithBodyWithResponse(api.ctx, &apiclient.CreateURLsParams{
		XHTTPMethodOverride: &method,
	}, formType,
		strings.NewReader("urls[0][hash]=form&urls[0][archived]=1")))(api.t)
	if made, err = overridden.JSON200.Urls[0].AsURL(); err != nil || !made.Archived {
		api.t.Errorf("edited %+v, %v", made, err)
	}
	succeed(
		api.EditURLsWithResponse(
			api.ctx, &apiclient.EditURLsParams{Hashes: new("one,form")},
			apiclient.URLEdits{Urls: []apiclient.URLEdit{{Ping: new(true)}}},
		),
	)(api.t)
	equal(api.t, "ping", succeed(api.ReadURLWithResponse(api.ctx, "one", nil))(api.t).JSON200.Urls[0].Ping, true)

	succeed(api.CreateTagWithResponse(api.ctx, nil, apiclient.TagPayload{Label: "be ta"}))(api.t)
	succeed(api.RenameTagWithResponse(api.ctx, "be ta", nil, apiclient.TagPayload{Label: "gamma"}))(api.t)
	succeed(api.DeleteTagWithResponse(api.ctx, "gamma", nil))(api.t)
	equal(api.t, "tags", len(succeed(api.ListTagsWithResponse(api.ctx, nil))(api.t).JSON200.Tags), 4)
}

// undoes deletes URLs and undoes the deletion.
func (api generated) undoes() {
	api.t.Helper()
	succeed(api.ResetStatsWithResponse(api.ctx, "one", nil))(api.t)
	succeed(api.ResetSelectedStatsWithResponse(api.ctx, &apiclient.ResetSelectedStatsParams{Tags: new("news")}))(api.t)
	succeed(api.DeleteURLWithResponse(api.ctx, "form", &apiclient.DeleteURLParams{IdempotencyKey: new("once")}))(api.t)
	restored := succeed(api.RestoreURLWithResponse(api.ctx, "form", nil, apiclient.Restoration{}))(
		api.t,
	).JSON200.Urls[0]
	equal(api.t, "restored", restored.Hash, "form")

	deleted := succeed(api.DeleteURLsWithResponse(api.ctx, &apiclient.DeleteURLsParams{Hashes: new("one,form")}))(api.t)
	batch, err := uuid.Parse(deleted.HTTPResponse.Header.Get(response.HeaderBatchID))
	if err != nil {
		api.t.Fatal(err)
	}
	undo := succeed(api.UndoBatchWithResponse(api.ctx, batch, nil))(api.t).JSON200
	equal(api.t, "undone", undo.Undo.Undone, 2)
	equal(api.t, "version", undo.Version, apiclient.N31)
}
