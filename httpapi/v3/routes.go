package v3

import (
	"net/http"

	"github.com/uptrace/bunrouter"

	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
)

// Routes returns all routes under /v3 but those of the description.
func (a *API) Routes() []router.Route {
	return []router.Route{
		router.Get("/v3/account", a.endpointAt(a.account.Read)),
		router.Get("/v3/domains", a.endpoint(a.domains.listDomains)),

		router.Post("/v3/urls", a.endpoint(a.urls.Create)),
		router.Get("/v3/urls", a.endpointAt(a.urls.List)),
		router.Patch("/v3/urls", a.endpoint(a.urls.Edit)),
		router.Delete("/v3/urls", a.endpoint(a.urls.Delete)),
		router.Get("/v3/urls/:hash", a.endpointAt(a.urls.Read)),
		router.Patch("/v3/urls/:hash", a.endpoint(a.urls.EditOne)),
		router.Delete("/v3/urls/:hash", a.endpoint(a.urls.DeleteOne)),
		router.Get("/v3/urls/:hash/dimensions", a.endpoint(a.stats.Dimensions)),
		router.Get("/v3/urls/:hash/history", a.endpoint(a.stats.History)),
		router.Post("/v3/urls/:hash/restore", a.endpoint(a.urls.Restore)),
		router.Post("/v3/batches/:id/undo", a.endpoint(a.changes.Undo)),

		router.Delete("/v3/stats", a.endpoint(a.stats.Reset)),
		router.Get("/v3/stats/:hash", a.endpoint(a.stats.Read)),
		router.Delete("/v3/stats/:hash", a.endpoint(a.stats.ResetOne)),

		router.Get("/v3/tags", a.endpoint(a.tags.List)),
		router.Post("/v3/tags", a.endpoint(a.tags.Create)),
		router.Patch("/v3/tags/:label", a.endpoint(a.tags.Rename)),
		router.Delete("/v3/tags/:label", a.endpoint(a.tags.Delete)),
	}
}

// Options returns a handler of OPTIONS with a value of the header Allow. The response is JSON, like
// all others under /v3.
func Options(allow string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Allow", allow)
		return response.WriteJSON(w, http.StatusOK, response.Succeeded())
	}
}
