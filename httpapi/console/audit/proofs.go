package audit

// This file shows the head of the log, and proves events and checks proofs of them.

import (
	"net/http"
	"net/url"
	"strings"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/console/page"
	"linkledger/httpapi/console/page/calls"
	"linkledger/httpapi/contract"
)

// checkRecord is the result of a check of a file of proofs, as the page shows it.
type checkRecord struct {
	contract.Check

	More int // events that the page leaves out
}

const (
	// maxProven is how many events of a proof a page shows.
	maxProven = 50
	// maxData is how many code points of the data of such an event the page shows.
	maxData = 400
)

// shorten leaves out events and data that would make the page long.
func (c *checkRecord) shorten() {
	c.More = max(0, len(c.Events)-maxProven)
	c.Events = c.Events[:len(c.Events)-c.More]
	for i := range c.Events {
		c.Events[i].Data = apierror.Clip(c.Events[i].Data, maxData)
	}
}

type proofsData struct {
	Head  *contract.Head // nil: this service has no key to sign with
	Check *checkRecord   // nil: nothing was checked
}

// proofs shows the signed head of the log, and the result of the check that has led to the page.
func proofs(p *page.Page) error {
	p.Title = "Proofs"
	var answer contract.HeadAnswer
	var data proofsData
	var checked checkRecord
	if p.Hear(&checked) {
		data.Check = &checked
	}
	err := p.Get("/v3/head", nil, &answer)
	refused, ok := calls.AsRefusal(err)
	switch {
	case err == nil:
		data.Head = &answer.Head
	case ok && refused.Status == http.StatusBadRequest:
		p.Refuse(refused)
	default:
		return err
	}
	p.Data = data
	return nil
}

// checkProof checks a file of proofs, which was chosen or pasted.
func checkProof(p *page.Page) error {
	file := p.File
	if file == "" {
		// Browsers send the line ends of a text field as \r\n.
		file = strings.TrimSpace(strings.ReplaceAll(p.Form.Get("text"), "\r\n", "\n")) + "\n"
	}
	return check(p, file)
}

// check checks a file of proofs, and redirects to the page that shows the result and the proven
// events.
func check(p *page.Page, file string) error {
	p.C.EndWithClient()
	var answer contract.CheckAnswer
	err := p.Call(http.MethodPost, "/v3/proofs", contract.ProofPayload{File: file}, &answer)
	// The page shows the call as a command that sends a file, instead of the text of the file.
	call := &p.Calls[len(p.Calls)-1]
	call.Body, call.Form = "", "file=<FILE"
	if err != nil {
		return err
	}
	checked := checkRecord{Check: answer.Check}
	checked.shorten()
	p.Told = checked
	return p.Finish(nil, proofsPath, "")
}

// CheckLink gets the proof of a part of a link's history and checks it at once. The result shows
// the events of that part as they are stored.
func CheckLink(p *page.Page) error {
	file, err := proofOf(p)
	if err != nil {
		return err
	}
	return check(p, file)
}

// DownloadProof answers with the file of proofs of a link.
func DownloadProof(p *page.Page) error {
	file, err := proofOf(p)
	p.Download, p.DownloadName = file, p.C.Param("hash")+".proof"
	return err
}

// proofOf returns a file of proofs for the link that the path names. The parameters offset and
// limit choose the events of the link.
func proofOf(p *page.Page) (string, error) {
	var answer contract.ProofAnswer
	path := "/v3/urls/" + url.PathEscape(p.C.Param("hash")) + "/proof"
	err := p.Get(path, p.Chosen("offset", "limit"), &answer)
	if err == nil && answer.Proof.File == "" {
		err = &calls.RefusedError{
			Status: http.StatusNotFound, Text: "The part that was chosen has no event to prove",
		}
	}
	return answer.Proof.File, err
}
