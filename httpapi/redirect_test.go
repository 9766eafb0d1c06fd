package httpapi_test

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi"
	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
	"linkledger/httpapi/httpapitest"
)

func TestRedirect(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	for hash, long := range map[string]string{
		"plain": "https://example.com/a", "odd": "HTTPS://Example.COM:443/%7Ea/../b//c?q=<ü>&x='\\\"#frag",
		"bare": "http://example.com",
	} {
		c.Must(
			"POST", "/v3/urls",
			`{"urls":[{"custom_hash":"`+hash+`","long_url":"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(
				long,
			)+`"}]}`,
		)
		for _, path := range []string{hash, hash + "/", fmt.Sprintf("%%%02X", hash[0]) + hash[1:], hash + "?utm=1"} {
			for _, method := range []string{"GET", "HEAD"} {
				a := s.Visit(t, method, "/"+path)
				httpapitest.Equal(t, method+" "+path, a.Status, http.StatusFound)
				httpapitest.Equal(t, "Location", a.Header.Get("Location"), strings.ReplaceAll(long, "ü", "%C3%BC"))
				httpapitest.Equal(t, "Cache-Control", a.Header.Get("Cache-Control"), "private, no-store")
				httpapitest.Equal(t, "Referrer-Policy", a.Header.Get("Referrer-Policy"), "strict-origin-when-cross-origin")
				httpapitest.Equal(t, "body", a.Body, "")
			}
		}
	}
}

func TestClicksAreCounted(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	c.Create(`"long_url":"https://example.com/","custom_hash":"two"`)
	stats := func() contract.Stats {
		t.Helper()
		s.CatchUp(t)
		return c.Must("GET", "/v3/stats/one/", "").Stats[0]
	}
	if none := c.Must(
		"GET", "/v3/stats/one", "",
	); !strings.Contains(none.Body, `"stats":[{"hash":"one","total_clicks":0,"unique_clicks":0,"daily_clicks":{}}]`) {
		t.Errorf("stats of an unvisited link are %s", none.Body)
	}
	const ann, ben = "192.0.2.1:1000", "192.0.2.2:1000"
	s.Visit(t, "GET", "/one", httpapitest.From(ann, httpapitest.Firefox))
	s.Visit(t, "HEAD", "/one", httpapitest.From(ann, httpapitest.Firefox))
	s.Visit(t, "GET", "/one/", httpapitest.From("192.0.2.1:2000", httpapitest.Firefox))      // the port does not identify a visitor
	s.Visit(t, "GET", "/one", httpapitest.From("[::ffff:192.0.2.1]:9", httpapitest.Firefox)) // nor does the notation of the address
	s.Visit(t, "GET", "/one", httpapitest.From(ann, httpapitest.Firefox), httpapitest.Header("X-Forwarded-For", "203.0.113.9"))
	s.SetTime(t, "2026-05-15T00:00:00Z")
	s.Visit(t, "GET", "/one", httpapitest.From(ann, httpapitest.IPhone))
	s.Visit(t, "GET", "/one", httpapitest.From(ben, httpapitest.Firefox))
	s.Visit(t, "GET", "/one/qr.png", httpapitest.From(ben, httpapitest.IPhone))
	// an IPv6 network is one visitor, whose addresses change
	for _, device := range []string{
		"[2001:db8::1]:1", "[2001:db8::a:2]:1", "[2001:db8:0:0:ffff::1]:1", "[2001:db8:0:1::1]:1",
	} {
		s.Visit(t, "GET", "/two", httpapitest.From(device, httpapitest.Firefox))
	}
	s.CatchUp(t)
	httpapitest.Equal(t, "visitors by IPv6", c.Must("GET", "/v3/stats/two", "").Stats[0].UniqueClicks, 2)
	got := stats()
	httpapitest.Equal(t, "total", got.TotalClicks, 6)
	httpapitest.Equal(t, "unique", got.UniqueClicks, 3)
	httpapitest.Equal(t, "first day", got.DailyClicks["2026-05-14"], contract.Day{Total: 4, Unique: 1})
	httpapitest.Equal(t, "second day", got.DailyClicks["2026-05-15"], contract.Day{Total: 2, Unique: 2})
	read := c.Read("one")
	if read.TotalClicks != 6 || read.UniqueClicks != 3 || !read.Visited ||
		httpapitest.Wire(*read.LastVisit) != "2026-05-15T00:00:00+00:00" {
		t.Errorf("the record of a visited link is %+v", read)
	}
	edited := c.Must("PATCH", "/v3/urls/one", `{"urls":[{"note":"n"}]}`).URLs[0]
	httpapitest.Equal(t, "clicks after an edit", edited.TotalClicks, 6)
	httpapitest.Equal(t, "created_at", httpapitest.Wire(edited.CreatedAt), "2026-05-14T12:00:00+00:00")
	httpapitest.Equal(t, "modified_at", httpapitest.Wire(edited.ModifiedAt), "2026-05-15T00:00:00+00:00")
}

func TestLinksThatDoNotRedirect(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c, quitter := s.Client(t, "alice"), s.Client(t, "quitter")
	for _, fields := range []string{
		`"custom_hash":"today","expiration_date":"2026-05-14"`, `"custom_hash":"once","max_clicks":1`,
		`"custom_hash":"deleted"`, `"custom_hash":"old"`, `"custom_hash":"past","expiration_date":"2026-05-13"`,
		`"custom_hash":"archived"`,
	} {
		c.Create(`"long_url":"https://example.com/",` + fields)
	}
	c.Must("DELETE", "/v3/urls/deleted", "")
	c.Must("PATCH", "/v3/urls/old", `{"urls":[{"custom_hash":"new"}]}`)
	c.Must("PATCH", "/v3/urls/archived", `{"urls":[{"archived":true}]}`)
	quitter.Create(`"long_url":"https://example.com/","custom_hash":"quit"`)
	s.Deactivate(t, "quitter")
	httpapitest.Equal(t, "QR code before", s.Visit(t, "GET", "/once/qr.png").Status, http.StatusOK)
	httpapitest.Equal(t, "first click", s.Visit(t, "GET", "/once").Status, http.StatusFound)
	s.CatchUp(t)
	s.SetTime(t, "2026-05-14T23:59:59Z")
	for path, status := range map[string]int{
		"/today": 302, "/new": 302, "/archived": 302, "/once": 410, "/deleted": 410, "/past": 410, "/quit": 410,
		"/quit/qr.png": 410, "/deleted/qr.png": 410,
		"/once/qr.png": 410, "/past/qr.png": 410, "/old/qr.png": 404, "/today/qr.png": 200, "/archived/qr.png": 200,
		"/old": 404, "/": 404, "/none": 404, "/favicon.ico": 404, "/a%20b": 404, "/%00": 404, "/%FF": 404,
		"/new/x": 404, "//new": 302, "/./new": 404,
		"/consoles": 404, "/v3x": 404, "/none/qr.png": 404,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.Visit(t, method, path)
			httpapitest.Equal(t, method+" "+path, a.Status, status)
			if location := a.Header.Get("Location"); status != 302 && location != "" {
				t.Errorf("%s leads to %s", path, location)
			}
		}
	}
	s.SetTime(t, "2026-05-15T00:00:00Z")
	httpapitest.Equal(t, "the day after", s.Visit(t, "GET", "/today").Status, http.StatusGone)
	httpapitest.Equal(t, "its QR code", s.Visit(t, "GET", "/today/qr.png").Status, http.StatusGone)
	httpapitest.Equal(t, "POST", s.Visit(t, "POST", "/new").Status, http.StatusMethodNotAllowed)
	httpapitest.Equal(t, "Allow", s.Visit(t, "POST", "/new").Header.Get("Allow"), "GET, HEAD, OPTIONS")
	httpapitest.Equal(
		t, "override", s.Visit(t, "POST", "/new", httpapitest.Header("X-HTTP-Method-Override", "GET")).Status,
		http.StatusMethodNotAllowed,
	)
}

func TestNotices(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	for accept, json := range map[string]bool{
		"": false, "*/*": false, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"application/json": true, "Application/JSON; charset=utf-8": true, "text/plain, application/json;q=0.9": true,
		"text/html, application/json": false, "text/html;q=0.5, application/json;q=0.8": true,
		"application/json;q=0": false, "application/json;q=x": false,
	} {
		a := s.Visit(t, "GET", "/none", httpapitest.Header("Accept", accept))
		httpapitest.Equal(t, "status", a.Status, http.StatusNotFound)
		httpapitest.Equal(t, "Vary", a.Header.Get("Vary"), "Accept")
		httpapitest.Equal(t, "Cache-Control", a.Header.Get("Cache-Control"), "no-store")
		if json {
			a.Is(http.StatusNotFound, apierror.CodeURLNotFound)
			continue
		}
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") ||
			!strings.Contains(a.Body, "There is no such link") {
			t.Errorf("response to Accept: %s: %s", accept, a.Body)
		}
	}
	odd := s.Visit(t, "GET", "/none/qr.png?size=<script>")
	httpapitest.Equal(t, "status", odd.Status, http.StatusBadRequest)
	if strings.Contains(odd.Body, "<script>") || !strings.Contains(odd.Body, "&lt;script&gt;") {
		t.Errorf("the page contains what the client sent: %s", odd.Body)
	}
}

func TestQRImages(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	links := c.Create(`"long_url":"https://example.com/","custom_hash":"one"`).Links
	for link, side := range map[string]int{
		links.QRSmall: 200, links.QRBig: 600, "http://sho.rt/one/qr.png/": 200,
	} {
		a := s.Visit(t, "GET", strings.TrimPrefix(link, "http://sho.rt"))
		httpapitest.Equal(t, "status", a.Status, http.StatusOK)
		httpapitest.Equal(t, "Content-Type", a.Header.Get("Content-Type"), "image/png")
		httpapitest.Equal(t, "Cache-Control", a.Header.Get("Cache-Control"), "public, max-age=86400")
		drawn, err := png.Decode(bytes.NewReader([]byte(a.Body)))
		if err != nil {
			t.Fatal(err)
		}
		httpapitest.Equal(t, "width", drawn.Bounds().Dx(), side)
		httpapitest.Equal(t, "height", drawn.Bounds().Dy(), side)
		dark := func(x, y int) bool { return color.GrayModel.Convert(drawn.At(x, y)).(color.Gray).Y < 128 }
		// A finder pattern fills three of the corners. Its first row has 7 dark modules, and its
		// second row is dark at both ends.
		border := 0
		for border < side/2 && !dark(border, border) {
			border++
		}
		row := 0
		for border+row < side && dark(border+row, border) {
			row++
		}
		module := row / 7
		if module == 0 || row%7 != 0 || border < 4*module {
			t.Fatalf("%s has a border of %d pixels and a first row of %d", link, border, row)
		}
		for _, corner := range [][2]int{
			{border, border}, {side - 1 - border - row, border}, {border, side - 1 - border - row},
		} {
			for i, want := range []bool{true, false, true, true, true, false, true} {
				httpapitest.Equal(t, "module of the finder pattern", dark(corner[0]+i*module+module/2, corner[1]+row/2), want)
			}
		}
		again := s.Visit(
			t, "GET", strings.TrimPrefix(link, "http://sho.rt"), httpapitest.Header("If-None-Match", a.Header.Get("ETag")),
		)
		httpapitest.Equal(t, "status with ETag", again.Status, http.StatusNotModified)
	}
	httpapitest.Equal(t, "other size", s.Visit(t, "GET", "/one/qr.png?size=huge").Status, http.StatusBadRequest)
}

func TestBaseURLOfTheRequest(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.BaseURL = "" })
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for host, want := range map[string]string{
		"localhost:8080": "http://localhost:8080/one", "[::1]:80": "http://[::1]:80/one",
	} {
		got := c.Must("GET", "/v3/urls/one", "", func(r *http.Request) { r.Host = host }).URLs[0]
		httpapitest.Equal(t, "short URL", got.ShortURLWithProtocol, want)
		httpapitest.Equal(t, "QR link", got.Links.QRBig, want+"/qr.png?size=big")
	}
	for _, host := range []string{"", "a/b", "a b", "a@b", strings.Repeat("a", 300)} {
		c.Call("GET", "/v3/urls/one", "", func(r *http.Request) { r.Host = host }).Is(
			http.StatusBadRequest, apierror.CodeWrongInput,
		)
	}
}

// TestLoopToTheHostOfTheRequest checks that without a base URL a link to the host of the request is
// refused as a loop, whatever call sets it and however it is written.
func TestLoopToTheHostOfTheRequest(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t, func(cfg *httpapi.Config) { cfg.BaseURL = "" })
	c := s.Client(t, "alice")
	loop := func(host string) httpapitest.With { return func(r *http.Request) { r.Host = host } }
	for host, links := range map[string][]string{
		"links.example":       {"http://links.example/x", "https://LINKS。example./x", "http://links.example:0080"},
		"links.example:80":    {"https://links.example/x"},
		"127.0.0.1:8080":      {"http://127.1:8080/x", "http://0x7f000001:08080/", "http://[::ffff:127.0.0.1]:8080"},
		"[::1]:8080":          {"http://[0:0::1]:8080/x"},
		"xn--krz-hoa.example": {"https://kürz.example", "https://kürz.example"},
	} {
		for i, link := range links {
			body := `{"urls":[{"long_url":"` + link + `"}]}`
			c.Call("POST", "/v3/urls", body, loop(host)).URLs[0].Failed(
				t, apierror.CodeURLNotAllowed, "back to this service",
			)
			hash := c.Create(`"long_url":"` + link + `"`).Hash // through another host
			c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"long_url":"https://example.com/"}]}`)
			c.Call("PATCH", "/v3/urls/"+hash, body, loop(host)).URLs[0].Failed(
				t, apierror.CodeURLNotAllowed, "back to this service",
			)
			c.Call("POST", "/v3/urls/"+hash+"/restore", `{"version":0}`, loop(host)).Is(
				http.StatusBadRequest, apierror.CodeURLNotAllowed,
			)
			changed := c.Must("PATCH", "/v3/urls/"+hash, `{"urls":[{"note":"`+strconv.Itoa(i)+`"}]}`, loop(host))
			httpapitest.Equal(t, "edits of other fields", changed.URLs[0].Note, strconv.Itoa(i))
		}
		c.Must(
			"POST", "/v3/urls",
			`{"urls":[{"long_url":"http://links.example:8081"},{"long_url":"http://127.0.0.1:8081"}]}`, loop(host),
		)
	}
}

func TestOneOfTheTwoIsServed(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "alice")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	cfg := s.Server.Config()
	cfg.Redirects = false
	api, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Redirects, cfg.API = true, false
	redirects, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	httpapitest.Equal(t, "redirect by the API", httpapitest.Send(t, api, "GET", "/one", "").Status, http.StatusNotFound)
	httpapitest.Equal(t, "redirect", httpapitest.Send(t, redirects, "GET", "/one", "").Status, http.StatusFound)
	httpapitest.Equal(t, "API by redirects", httpapitest.Send(t, redirects, "GET", "/v3/urls", "").Status, http.StatusNotFound)
	c.Handler = api
	c.Read("one")
	for _, status := range []int{301, 302, 307, 308} {
		cfg.RedirectStatus = status
		redirects, err := httpapi.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		a := httpapitest.Send(t, redirects, "GET", "/one", "")
		httpapitest.Equal(t, "status", a.Status, status)
		httpapitest.Equal(t, "Cache-Control", a.Header.Get("Cache-Control"), "private, no-store")
	}
}

// TestReadsSeeTheClicksBeforeThem checks that a read immediately after a visit shows its click.
func TestReadsSeeTheClicksBeforeThem(t *testing.T) {
	t.Parallel()
	s := httpapitest.New(t)
	c := s.Client(t, "demo")
	c.Create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for n := int64(1); n <= 20; n++ {
		s.Visit(t, http.MethodGet, "/one")
		if clicks := c.Must(http.MethodGet, "/v3/stats/one", "").Stats[0].TotalClicks; clicks != n {
			t.Fatalf("%d clicks after %d visits", clicks, n)
		}
		if clicks := c.Read("one").TotalClicks; clicks != n {
			t.Fatalf("the record has %d clicks after %d visits", clicks, n)
		}
	}
}
