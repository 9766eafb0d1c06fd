// Package openapi serves the OpenAPI description of the service, as JSON and as an HTML page. It
// MUST NOT import the packages that serve the described calls.
package openapi

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/http"
	"sync"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
)

// description is the OpenAPI description of the public listener.
//
//go:embed openapi.json
var description []byte

// Source returns a copy of the description.
func Source() []byte { return bytes.Clone(description) }

// Root is the prefix of the described paths, except of paths with servers of their own.
const Root = "/v3"

// Path is the path of the description. Pages of every origin may read it.
const Path = Root + "/openapi.json"

// cacheControl is the Cache-Control of the description and of its page.
const cacheControl = "public, max-age=300"

// Routes returns the routes of the description and of its page. They need no credentials.
func Routes() ([]router.Route, error) {
	docs, err := readDocs()
	if err != nil {
		return nil, err
	}
	return []router.Route{
		router.Get(Path, readDescription),
		router.Get("/v3/docs", docs),
	}, nil
}

// readDescription serves the description as JSON.
func readDescription(w http.ResponseWriter, _ bunrouter.Request) error {
	w.Header().Set("Cache-Control", cacheControl)
	response.Write(w, http.StatusOK, "application/json; charset=utf-8", description)
	return nil
}

// renderedDocs renders the page once, because the tests make hundreds of servers.
var renderedDocs = sync.OnceValues(func() ([]byte, error) { return renderDocs(description) })

// readDocs returns the handler that serves the page.
func readDocs() (bunrouter.HandlerFunc, error) {
	page, err := renderedDocs()
	if err != nil {
		return nil, fmt.Errorf("page of the API's description: %w", err)
	}
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Cache-Control", cacheControl)
		response.WritePage(w, http.StatusOK, page)
		return nil
	}, nil
}
