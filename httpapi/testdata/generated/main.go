// Program generated calls a service with the client that oapi-codegen generates from openapi.json.
// It fails at the first answer that contradicts the description. TestGeneratedClient in
// linkledger/httpapi generates client.gen.go beside a copy of this module. The module is separate
// so that the generator and its packages stay out of the service's module.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/google/uuid"
)

func main() {
	if len(os.Args) != 4 {
		failf("usage: generated BASE-URL USERNAME KEY")
	}
	run(os.Args[1], os.Args[2], os.Args[3])
}

// failf ends the program.
func failf(format string, values ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", values...)
	os.Exit(1)
}

// equal ends the program if two values differ.
func equal[T comparable](what string, got, want T) {
	if got != want {
		failf("%s is %v; want %v", what, got, want)
	}
}

// generated is the generated client.
type generated struct {
	*ClientWithResponses

	ctx context.Context
}

// newGenerated returns a client for a path of a service.
func newGenerated(url, username, key string) generated {
	httpClient := &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	api, err := NewClientWithResponses(url, WithHTTPClient(httpClient),
		WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.SetBasicAuth(username, key)
			return nil
		}))
	if err != nil {
		failf("%v", err)
	}
	return generated{ClientWithResponses: api, ctx: context.Background()}
}

// succeed returns the response of a call, and ends the program if the call failed.
func succeed[R interface{ StatusCode() int }](response R, err error) R {
	if err != nil {
		failf("%v", err)
	}
	if response.StatusCode() != http.StatusOK {
		failf("answered %d", response.StatusCode())
	}
	return response
}

func run(base, username, key string) {
	api := newGenerated(base+"/v3", username, key)
	created := succeed(api.CreateURLsWithResponse(api.ctx, nil, NewURLs{Urls: []NewURL{
		{LongUrl: "https://example.com/1", CustomHash: new("one"), Tags: &[]string{"news", "mail"}},
		{LongUrl: "https://example.com/2", CustomHash: new("")},
		{LongUrl: "ftp://example.com/", CustomHash: new("three")},
	}})).JSON200.Urls
	one, err := created[0].AsURL()
	if err != nil || one.Hash != "one" || one.Error.Code != 0 || strings.Join(one.Tags, ",") != "news,mail" {
		failf("created %+v, %v", one, err)
	}
	failed, err := created[2].AsFailedURL()
	if err != nil || *failed.CustomHash != "three" || failed.Error.Code != 1206 ||
		failed.Error.Details == "" {
		failf("refused %+v, %v", failed, err)
	}
	api.reads(username)
	api.edits()
	api.undoes()

	visitor := newGenerated(base, username, key)
	redirect, err := visitor.RedirectWithResponse(api.ctx, "one")
	if err != nil || redirect.StatusCode() != http.StatusFound ||
		redirect.HTTPResponse.Header.Get("Location") != "https://example.com/1" {
		failf("redirect %+v, %v", redirect, err)
	}
	size := Big
	image := succeed(visitor.ReadQRCodeWithResponse(api.ctx, "one", &ReadQRCodeParams{Size: &size}))
	equal("image", http.DetectContentType(image.Body), "image/png")

	refused, err := newGenerated(base+"/v3", username, "wrong").ReadAccountWithResponse(api.ctx, nil)
	if err != nil || refused.StatusCode() != http.StatusBadRequest ||
		refused.JSONDefault.Error.Code != 1300 {
		failf("refused %+v, %v", refused, err)
	}
}

// reads reads two URLs. One of them has the hash "one".
func (api generated) reads(username string) {
	account := succeed(api.ReadAccountWithResponse(api.ctx, nil)).JSON200.Account
	equal("user name", account.Username, username)
	equal("URLs", account.Counters["urls"].Count, 2)
	domains := succeed(api.ListDomainsWithResponse(api.ctx, nil)).JSON200.Domains
	equal("domain", domains[0].Domain, "sho.rt")

	order := ListURLsParamsOrderByMinusClicks
	page := succeed(
		api.ListURLsWithResponse(
			api.ctx, &ListURLsParams{Limit: new(1), OrderBy: &order, Domain: new("sho.rt")},
		),
	)
	equal("total", page.JSON200.Page.TotalCount, 2)
	equal("results", len(page.JSON200.Urls), 1)
	for expression, want := range map[string]int{"+news&+mail": 1, "news|~mail": 2, "(+news,~mail)": 0} {
		found := succeed(api.ListURLsWithResponse(api.ctx, &ListURLsParams{Tags: &expression}))
		equal(expression, len(found.JSON200.Urls), want)
	}
	read := succeed(api.ReadURLWithResponse(api.ctx, "one", nil)).JSON200.Urls[0]
	if read.LongUrl != "https://example.com/1" || read.LastVisit != nil || read.Error != nil {
		failf("read %+v", read)
	}
	missing, err := api.ReadURLWithResponse(api.ctx, "missing", nil)
	if err != nil || missing.StatusCode() != http.StatusNotFound ||
		missing.JSONDefault.Error.Code != 1306 {
		failf("missing %+v, %v", missing, err)
	}
	equal(
		"stats", succeed(api.ReadStatsWithResponse(api.ctx, "one", nil)).JSON200.Stats[0].TotalClicks, 0,
	)
	equal(
		"dimensions",
		succeed(api.ReadDimensionsWithResponse(api.ctx, "one", nil)).JSON200.Dimensions.Hash, "one",
	)
	history := succeed(api.ReadHistoryWithResponse(api.ctx, "one", nil)).JSON200.History
	equal("lives", len(history.Links), 1)
}

// edits edits URLs and tags, with and without forms.
func (api generated) edits() {
	form := succeed(api.CreateURLsWithFormdataBodyWithResponse(api.ctx, nil, NewURLs{Urls: []NewURL{
		{
			LongUrl: "https://example.com/form?a=b&c=d", CustomHash: new("form"), Tags: &[]string{"a", "b"},
			EmailStats: new(true), MaxClicks: new(5),
		},
	}}))
	made, err := form.JSON200.Urls[0].AsURL()
	if err != nil || made.LongUrl != "https://example.com/form?a=b&c=d" || len(made.Tags) != 2 || !made.EmailStats ||
		made.MaxClicks != 5 {
		failf("creation by form: %+v, %v", made, err)
	}
	edited := succeed(
		api.EditURLWithResponse(
			api.ctx, "form", nil,
			OneURLEdit{Urls: []URLEdit{{Note: new("x"), Tags: &[]string{"-a"}}}},
		),
	)
	if made, err = edited.JSON200.Urls[0].AsURL(); err != nil || made.Note != "x" || len(made.Tags) != 1 {
		failf("edited %+v, %v", made, err)
	}
	method := CreateURLsParamsXHTTPMethodOverridePATCH
	overridden := succeed(api.CreateURLsWithBodyWithResponse(api.ctx, &CreateURLsParams{
		XHTTPMethodOverride: &method,
	}, "application/x-www-form-urlencoded",
		strings.NewReader("urls[0][hash]=form&urls[0][archived]=1")))
	if made, err = overridden.JSON200.Urls[0].AsURL(); err != nil || !made.Archived {
		failf("edited %+v, %v", made, err)
	}
	succeed(
		api.EditURLsWithResponse(
			api.ctx, &EditURLsParams{Hashes: new("one,form")},
			URLEdits{Urls: []URLEdit{{Ping: new(true)}}},
		),
	)
	equal("ping", succeed(api.ReadURLWithResponse(api.ctx, "one", nil)).JSON200.Urls[0].Ping, true)

	succeed(api.CreateTagWithResponse(api.ctx, nil, TagPayload{Label: "be ta"}))
	succeed(api.RenameTagWithResponse(api.ctx, "be ta", nil, TagPayload{Label: "gamma"}))
	succeed(api.DeleteTagWithResponse(api.ctx, "gamma", nil))
	equal("tags", len(succeed(api.ListTagsWithResponse(api.ctx, nil)).JSON200.Tags), 4)
}

// undoes deletes URLs and undoes the deletion.
func (api generated) undoes() {
	succeed(api.ResetStatsWithResponse(api.ctx, "one", nil))
	succeed(api.ResetSelectedStatsWithResponse(api.ctx, &ResetSelectedStatsParams{Tags: new("news")}))
	succeed(api.DeleteURLWithResponse(api.ctx, "form", &DeleteURLParams{IdempotencyKey: new("once")}))
	restored := succeed(api.RestoreURLWithResponse(api.ctx, "form", nil, Restoration{})).JSON200.Urls[0]
	equal("restored", restored.Hash, "form")

	deleted := succeed(api.DeleteURLsWithResponse(api.ctx, &DeleteURLsParams{Hashes: new("one,form")}))
	batch, err := uuid.Parse(deleted.HTTPResponse.Header.Get("X-Batch-Id"))
	if err != nil {
		failf("%v", err)
	}
	undo := succeed(api.UndoBatchWithResponse(api.ctx, batch, nil)).JSON200
	equal("undone", undo.Undo.Undone, 2)
	equal("version", undo.Version, N31)
}
