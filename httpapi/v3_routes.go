package httpapi

import (
	"net/http"

	"github.com/uptrace/bunrouter"
)

// apiRoutes returns all routes of the API but those of its description.
func (a *API) apiRoutes() []route {
	return []route{
		{http.MethodGet, "/v3/account", a.endpointAt(a.account.readAccount)},
		{http.MethodGet, "/v3/domains", a.endpoint(a.domains.listDomains)},

		{http.MethodPost, "/v3/urls", a.endpoint(a.urls.createURLs)},
		{http.MethodGet, "/v3/urls", a.endpointAt(a.urls.listURLs)},
		{http.MethodPatch, "/v3/urls", a.endpoint(a.urls.editURLs)},
		{http.MethodDelete, "/v3/urls", a.endpoint(a.urls.deleteURLs)},
		{http.MethodGet, "/v3/urls/:hash", a.endpointAt(a.urls.readURL)},
		{http.MethodPatch, "/v3/urls/:hash", a.endpoint(a.urls.editURL)},
		{http.MethodDelete, "/v3/urls/:hash", a.endpoint(a.urls.deleteURL)},
		{http.MethodGet, "/v3/urls/:hash/dimensions", a.endpoint(a.stats.readDimensions)},
		{http.MethodGet, "/v3/urls/:hash/history", a.endpoint(a.stats.readHistory)},
		{http.MethodPost, "/v3/urls/:hash/restore", a.endpoint(a.urls.restoreURL)},
		{http.MethodPost, "/v3/batches/:id/undo", a.endpoint(a.changes.undoBatch)},

		{http.MethodDelete, "/v3/stats", a.endpoint(a.stats.resetSelectedStats)},
		{http.MethodGet, "/v3/stats/:hash", a.endpoint(a.stats.readStats)},
		{http.MethodDelete, "/v3/stats/:hash", a.endpoint(a.stats.resetStats)},

		{http.MethodGet, "/v3/tags", a.endpoint(a.tags.listTags)},
		{http.MethodPost, "/v3/tags", a.endpoint(a.tags.createTag)},
		{http.MethodPatch, "/v3/tags/:label", a.endpoint(a.tags.renameTag)},
		{http.MethodDelete, "/v3/tags/:label", a.endpoint(a.tags.deleteTag)},
	}
}

// apiOptions answers OPTIONS in JSON like everything under /v3.
func apiOptions(allow string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Allow", allow)
		return writeJSON(w, http.StatusOK, succeeded())
	}
}
