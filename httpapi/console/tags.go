package console

import (
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/console/page"
	"linkledger/httpapi/contract"
)

type tagsData struct {
	Tags []tagRecord `json:"tags"`
}

// tagRecord is a tag as the API answers it.
type tagRecord struct {
	Label string `json:"label"`
}

// Links returns the address of the list of the links with the tag.
func (t tagRecord) Links() string { return linksOf(t.Label) }

// linksOf quotes the label, whatever it has: a label cannot have a quotation mark.
func linksOf(label string) string {
	return linksPath + "?tags=" + url.QueryEscape(`+"`+label+`"`)
}

// Path returns the path of the actions on the tag.
func (t tagRecord) Path() string { return tagsPath + "/" + url.PathEscape(t.Label) }

func (h *Handler) tags(p *page.Page) error {
	p.Title = "Tags"
	var data tagsData
	err := p.Get("/v3/tags", nil, &data)
	p.Data = data
	return err
}

func (h *Handler) addTag(p *page.Page) error {
	body := contract.TagPayload{Label: strings.TrimSpace(p.Form.Get("label"))}
	err := p.Call(http.MethodPost, "/v3/tags", body, nil)
	return p.Finish(err, tagsPath, "The tag is made")
}

func tagCall(p *page.Page) string { return "/v3/tags/" + url.PathEscape(p.C.Param("label")) }

func (h *Handler) renameTag(p *page.Page) error {
	label := strings.TrimSpace(p.Form.Get("label"))
	err := p.Call(http.MethodPatch, tagCall(p), contract.TagPayload{Label: label}, nil)
	return p.Finish(err, tagsPath, p.C.Param("label")+" is now "+label)
}

func (h *Handler) deleteTag(p *page.Page) error {
	err := p.Call(http.MethodDelete, tagCall(p), nil, nil)
	return p.Finish(err, tagsPath, p.C.Param("label")+" is taken off all links")
}

// labels returns the labels in a text with separators in between. A label that has one of them
// stands in double quotes.
func labels(text, separators string) []string {
	var list []string
	var label strings.Builder
	end := func() {
		if trimmed := strings.TrimSpace(label.String()); trimmed != "" {
			list = append(list, trimmed)
		}
		label.Reset()
	}
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && strings.ContainsRune(separators, r):
			end()
		default:
			label.WriteRune(r)
		}
	}
	end()
	return list
}

// joinedLabels returns a text of which labels makes the list again.
func joinedLabels(list []string) string {
	written := make([]string, len(list))
	for i, label := range list {
		if written[i] = label; strings.ContainsAny(label, ",;") {
			written[i] = `"` + label + `"`
		}
	}
	return strings.Join(written, ", ")
}
