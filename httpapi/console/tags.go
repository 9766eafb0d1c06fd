package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

type tagsData struct {
	Tags []tagRecord `json:"tags"`
}

// tagRecord is a tag as the API answers it.
type tagRecord struct {
	Label string `json:"label"`
}

// Links returns the address of the list of the links with the tag.
func (t tagRecord) Links() string { return linksPath + "?tags=" + url.QueryEscape("+"+t.Label) }

// Path returns the path of the actions on the tag.
func (t tagRecord) Path() string { return tagsPath + "/" + url.PathEscape(t.Label) }

func (h *Handler) tags(p *page) error {
	p.Title = "Tags"
	var data tagsData
	err := p.get("/v3/tags", nil, &data)
	p.Data = data
	return err
}

// onTags leads back to the tags after an action. If it was refused, the page says why.
func (h *Handler) onTags(p *page, form url.Values, err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		p.redirect = tagsPath
		return err
	}
	p.Form = form
	err = h.tags(p)
	p.Refused, p.status = refused.text, refused.status
	return err
}

func (h *Handler) addTag(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	body := map[string]any{"label": strings.TrimSpace(form.Get("label"))}
	return h.onTags(p, form, p.call(http.MethodPost, "/v3/tags", body, nil))
}

func (p *page) tagCall() string { return "/v3/tags/" + url.PathEscape(p.c.Param("label")) }

func (h *Handler) renameTag(p *page) error {
	form, err := p.form()
	if err != nil {
		return err
	}
	body := map[string]any{"label": strings.TrimSpace(form.Get("label"))}
	return h.onTags(p, nil, p.call(http.MethodPatch, p.tagCall(), body, nil))
}

func (h *Handler) deleteTag(p *page) error {
	return h.onTags(p, nil, p.call(http.MethodDelete, p.tagCall(), nil, nil))
}
