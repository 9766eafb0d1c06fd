package payload

import (
	"net/http"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/decode"
)

func FuzzJSONBody(f *testing.F) {
	for _, seed := range []string{
		`{"urls":[{"long_url":"https://example.com/","custom_hash":"a","note":null,"email_stats":true,"max_clicks":1,"tags":["a"]}]}`,
		`{"urls":[{}]}`, `{"urls":{"0":1}}`, `{"label":"a"}`, `[]`, ``, `null`, `{"urls":[[[[]]]]}`,
		`{"urls":[{"max_clicks":1e400}]}`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := decode.JSON(data)
		readEverything(t, body, err)
	})
}

func FuzzFormBody(f *testing.F) {
	for _, seed := range []string{
		"urls[0][long_url]=https://example.com/&urls[0][tags][]=a&urls[0][tags][]=b&urls[1][email_stats]=1", "label=a",
		"label[]=a",
		"urls[0]=1&urls[0][a]=2", "urls[][a]=1", "a[b", "]=", "[]=", "=", "a[0][0][0]=1", "urls[99999999999]=1",
		"urls[00][note]=1", "a;b", "%",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		body, err := decode.Form(data)
		readEverything(t, body, err)
	})
}

func FuzzMultipartBody(f *testing.F) {
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"urls[0][long_url]\"\r\n\r\nhttps://example.com/\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"label\"\r\n\r\nx\r\n--b--\r\n"), "b")
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x\"\r\n\r\nx\r\n--b--\r\n"), "b")
	f.Add([]byte("--b--"), "b")
	f.Add([]byte(""), "")
	f.Fuzz(func(t *testing.T, data []byte, boundary string) {
		body, err := decode.Multipart(data, boundary)
		readEverything(t, body, err)
	})
}

// readEverything checks that any input is either read or refused as invalid.
func readEverything(t *testing.T, body decode.Object, err error) {
	t.Helper()
	_ = body.Text("label")
	var items []decode.Object
	if err == nil {
		items, err = urlItems(body, 50)
	}
	if err == nil {
		_, err = readURLPayloads(items)
	}
	if err == nil {
		return
	}
	f, refused := apierror.Refusal(err)
	if !refused || f.Status != http.StatusBadRequest {
		t.Errorf("answered %+v for %v", f, err)
	}
}
