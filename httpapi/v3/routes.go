package v3

import (
	"net/http"

	"github.com/uptrace/bunrouter"

	"linkledger/commands/access"
	"linkledger/httpapi/response"
	"linkledger/httpapi/router"
	"linkledger/httpapi/session"
	"linkledger/httpapi/v3/catchup"
)

// anyScope is for calls that every key may make.
const anyScope access.Scopes = 0

// Routes returns all routes under /v3 except those of the OpenAPI description.
func (a *API) Routes() []router.Route {
	resume, resumeToEnd := (*session.Sessions).Resume, (*session.Sessions).ResumeToEnd
	return []router.Route{
		router.Get("/v3/account", a.endpointAt(anyScope, a.account.Read)),
		router.Get("/v3/domains", a.endpoint(anyScope, a.domains.listDomains)),

		router.Post("/v3/urls", a.endpoint(access.LinksCreate, a.urls.Create)),
		router.Get("/v3/urls", a.endpointAt(access.LinksRead, a.urls.List)),
		router.Patch("/v3/urls", a.endpoint(access.LinksWrite, a.urls.Edit)),
		router.Delete("/v3/urls", a.endpoint(access.LinksWrite, a.urls.Delete)),
		router.Get("/v3/urls/:hash", a.endpointAt(access.LinksRead, a.urls.Read)),
		router.Patch("/v3/urls/:hash", a.endpoint(access.LinksWrite, a.urls.EditOne)),
		router.Delete("/v3/urls/:hash", a.endpoint(access.LinksWrite, a.urls.DeleteOne)),
		router.Get("/v3/urls/:hash/dimensions", a.endpoint(access.StatsRead,
			a.from(catchup.Dimensions, a.stats.Dimensions))),
		router.Get("/v3/urls/:hash/history", a.unbound(access.HistoryRead, a.stats.History)),
		router.Get("/v3/urls/:hash/proof", a.unbound(access.HistoryRead,
			a.from(catchup.Tree, a.proofs.OfLink))),
		router.Post("/v3/urls/:hash/restore", a.unbound(access.LinksWrite, a.urls.Restore)),
		router.Get("/v3/deleted", a.unbound(access.HistoryRead, a.urls.Deleted)),
		router.Get("/v3/batches/:id", a.unbound(access.HistoryRead, a.urls.ChangedBy)),
		router.Post("/v3/batches/:id/undo", a.endpoint(access.LinksWrite, a.changes.Undo)),

		router.Delete("/v3/stats", a.endpoint(access.StatsReset, a.stats.Reset)),
		router.Get("/v3/stats/:hash", a.endpoint(access.StatsRead, a.stats.Read)),
		router.Delete("/v3/stats/:hash", a.endpoint(access.StatsReset, a.stats.ResetOne)),

		router.Get("/v3/tags", a.endpoint(access.LinksRead, a.tags.List)),
		router.Post("/v3/tags", a.unbound(access.TagsWrite, a.tags.Create)),
		router.Patch("/v3/tags/:label", a.unbound(access.TagsWrite, a.tags.Rename)),
		router.Delete("/v3/tags/:label", a.unbound(access.TagsWrite, a.tags.Delete)),

		router.Get("/v3/keys", a.unbound(access.KeysRead, a.keys.List)),
		router.Post("/v3/keys", a.unbound(access.Keys, a.keys.Add)),
		router.Patch("/v3/keys/:id", a.unbound(access.Keys, a.keys.Change)),
		router.Delete("/v3/keys/:id", a.unbound(access.Keys, a.keys.Revoke)),
		router.Post("/v3/keys/:id/undo", a.unbound(access.LinksWrite, a.changes.UndoKey)),
		router.Get("/v3/members", a.unbound(access.MembersRead, a.members.List)),
		router.Put("/v3/members", a.unbound(access.Members, a.members.Set)),
		router.Delete("/v3/members/:id", a.unbound(access.Members, a.members.Remove)),

		router.Get("/v3/webhooks", a.unbound(access.WebhooksRead, a.webhooks.List)),
		router.Post("/v3/webhooks", a.unbound(access.Webhooks, a.webhooks.Add)),
		router.Get("/v3/webhooks/:id", a.unbound(access.WebhooksRead, a.webhooks.Read)),
		router.Patch("/v3/webhooks/:id", a.unbound(access.Webhooks, a.webhooks.Change)),
		router.Delete("/v3/webhooks/:id", a.unbound(access.Webhooks, a.webhooks.Remove)),
		router.Post("/v3/webhooks/:id/rotate", a.unbound(access.Webhooks, a.webhooks.Rotate)),
		router.Post("/v3/webhooks/:id/suspend", a.unbound(access.Webhooks, a.webhooks.Suspend)),
		router.Post("/v3/webhooks/:id/resume", a.unbound(access.Webhooks, a.webhooks.Resume)),
		router.Post("/v3/webhooks/:id/test", a.unbound(access.Webhooks, a.webhooks.Test)),
		router.Get("/v3/webhooks/:id/deliveries", a.unbound(access.WebhooksRead,
			a.webhooks.Deliveries)),
		router.Post("/v3/webhooks/:id/redeliver", a.unbound(access.Webhooks,
			a.webhooks.Redeliver)),

		router.Post("/v3/sessions", a.endpoint(anyScope, a.sessions.Start)),
		router.Get("/v3/sessions", a.endpoint(anyScope, a.sessions.List)),
		router.Delete("/v3/sessions/:id", a.endpoint(anyScope, a.sessions.End)),
		router.Get("/v3/session", a.ofSession(resume, a.sessions.Current)),
		router.Patch("/v3/session", a.ofSession(resume, a.sessions.Move)),
		router.Delete("/v3/session", a.ofSession(resumeToEnd, a.sessions.EndCurrent)),

		router.Get("/v3/head", a.unbound(access.HistoryRead, a.from(catchup.Tree, a.proofs.Head))),
		router.Post("/v3/proofs", reading(a.unbound(access.HistoryRead,
			a.from(catchup.Tree, a.proofs.Check)))),
		router.Get("/v3/activity", a.unbound(access.HistoryRead,
			a.from(catchup.Activity, a.activity.List))),
	}
}

// Options returns the handler of OPTIONS requests. allow is the value of the header Allow. The
// response is JSON, like every response under /v3.
func Options(allow string) bunrouter.HandlerFunc {
	return func(w http.ResponseWriter, _ bunrouter.Request) error {
		w.Header().Set("Allow", allow)
		return response.WriteJSON(w, http.StatusOK, response.Succeeded())
	}
}
