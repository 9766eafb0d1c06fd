package httpapi

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/contract"
)

// visit follows a short link.
// visit follows a link, as a person does if no change says otherwise.
func (s *stack) visit(t testing.TB, method, path string, changes ...with) *answer {
	t.Helper()
	return send(t, s.handler, method, path, "", append([]with{header("User-Agent", lynx)}, changes...)...)
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	for hash, long := range map[string]string{
		"plain": "https://example.com/a", "odd": "HTTPS://Example.COM:443/%7Ea/../b//c?q=<ü>&x='\\\"#frag",
		"bare": "http://example.com",
	} {
		c.must(
			"POST", "/v3/urls",
			`{"urls":[{"custom_hash":"`+hash+`","long_url":"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(
				long,
			)+`"}]}`,
		)
		for _, path := range []string{hash, hash + "/", fmt.Sprintf("%%%02X", hash[0]) + hash[1:], hash + "?utm=1"} {
			for _, method := range []string{"GET", "HEAD"} {
				a := s.visit(t, method, "/"+path)
				equal(t, method+" "+path, a.status, http.StatusFound)
				equal(t, "Location", a.header.Get("Location"), strings.ReplaceAll(long, "ü", "%C3%BC"))
				equal(t, "Cache-Control", a.header.Get("Cache-Control"), "private, no-store")
				equal(t, "Referrer-Policy", a.header.Get("Referrer-Policy"), "strict-origin-when-cross-origin")
				equal(t, "body", a.body, "")
			}
		}
	}
}

func TestClicksAreCounted(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	c.create(`"long_url":"https://example.com/","custom_hash":"two"`)
	stats := func() contract.Stats {
		t.Helper()
		s.caughtUp(t)
		return c.must("GET", "/v3/stats/one/", "").Stats[0]
	}
	if none := c.must(
		"GET", "/v3/stats/one", "",
	); !strings.Contains(none.body, `"stats":[{"hash":"one","total_clicks":0,"unique_clicks":0,"daily_clicks":{}}]`) {
		t.Errorf("stats of an unvisited link are %s", none.body)
	}
	const ann, ben = "192.0.2.1:1000", "192.0.2.2:1000"
	s.visit(t, "GET", "/one", from(ann, firefox))
	s.visit(t, "HEAD", "/one", from(ann, firefox))
	s.visit(t, "GET", "/one/", from("192.0.2.1:2000", firefox))      // the port does not identify a visitor
	s.visit(t, "GET", "/one", from("[::ffff:192.0.2.1]:9", firefox)) // nor does the notation of the address
	s.visit(t, "GET", "/one", from(ann, firefox), header("X-Forwarded-For", "203.0.113.9"))
	s.at(t, "2026-05-15T00:00:00Z")
	s.visit(t, "GET", "/one", from(ann, iPhone))
	s.visit(t, "GET", "/one", from(ben, firefox))
	s.visit(t, "GET", "/one/qr.png", from(ben, iPhone))
	// an IPv6 network is one visitor, whose addresses change
	for _, device := range []string{
		"[2001:db8::1]:1", "[2001:db8::a:2]:1", "[2001:db8:0:0:ffff::1]:1", "[2001:db8:0:1::1]:1",
	} {
		s.visit(t, "GET", "/two", from(device, firefox))
	}
	s.caughtUp(t)
	equal(t, "visitors by IPv6", c.must("GET", "/v3/stats/two", "").Stats[0].UniqueClicks, 2)
	got := stats()
	equal(t, "total", got.TotalClicks, 6)
	equal(t, "unique", got.UniqueClicks, 3)
	equal(t, "first day", got.DailyClicks["2026-05-14"], contract.Day{Total: 4, Unique: 1})
	equal(t, "second day", got.DailyClicks["2026-05-15"], contract.Day{Total: 2, Unique: 2})
	read := c.read("one")
	if read.TotalClicks != 6 || read.UniqueClicks != 3 || !read.Visited ||
		wire(*read.LastVisit) != "2026-05-15T00:00:00+00:00" {
		t.Errorf("the record of a visited link is %+v", read)
	}
	edited := c.must("PATCH", "/v3/urls/one", `{"urls":[{"note":"n"}]}`).URLs[0]
	equal(t, "clicks after an edit", edited.TotalClicks, 6)
	equal(t, "created_at", wire(edited.CreatedAt), "2026-05-14T12:00:00+00:00")
	equal(t, "modified_at", wire(edited.ModifiedAt), "2026-05-15T00:00:00+00:00")
}

func TestLinksThatDoNotRedirect(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c, quitter := s.client(t, "alice"), s.client(t, "quitter")
	for _, fields := range []string{
		`"custom_hash":"today","expiration_date":"2026-05-14"`, `"custom_hash":"once","max_clicks":1`,
		`"custom_hash":"deleted"`, `"custom_hash":"old"`, `"custom_hash":"past","expiration_date":"2026-05-13"`,
		`"custom_hash":"archived"`,
	} {
		c.create(`"long_url":"https://example.com/",` + fields)
	}
	c.must("DELETE", "/v3/urls/deleted", "")
	c.must("PATCH", "/v3/urls/old", `{"urls":[{"custom_hash":"new"}]}`)
	c.must("PATCH", "/v3/urls/archived", `{"urls":[{"archived":true}]}`)
	quitter.create(`"long_url":"https://example.com/","custom_hash":"quit"`)
	s.deactivate(t, "quitter")
	equal(t, "QR code before", s.visit(t, "GET", "/once/qr.png").status, http.StatusOK)
	equal(t, "first click", s.visit(t, "GET", "/once").status, http.StatusFound)
	s.caughtUp(t)
	s.at(t, "2026-05-14T23:59:59Z")
	for path, status := range map[string]int{
		"/today": 302, "/new": 302, "/archived": 302, "/once": 410, "/deleted": 410, "/past": 410, "/quit": 410,
		"/quit/qr.png": 410, "/deleted/qr.png": 410,
		"/once/qr.png": 410, "/past/qr.png": 410, "/old/qr.png": 404, "/today/qr.png": 200, "/archived/qr.png": 200,
		"/old": 404, "/": 404, "/none": 404, "/favicon.ico": 404, "/a%20b": 404, "/%00": 404, "/%FF": 404,
		"/new/x": 404, "//new": 302, "/./new": 404,
		"/consoles": 404, "/v3x": 404, "/none/qr.png": 404,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.visit(t, method, path)
			equal(t, method+" "+path, a.status, status)
			if location := a.header.Get("Location"); status != 302 && location != "" {
				t.Errorf("%s leads to %s", path, location)
			}
		}
	}
	s.at(t, "2026-05-15T00:00:00Z")
	equal(t, "the day after", s.visit(t, "GET", "/today").status, http.StatusGone)
	equal(t, "its QR code", s.visit(t, "GET", "/today/qr.png").status, http.StatusGone)
	equal(t, "POST", s.visit(t, "POST", "/new").status, http.StatusMethodNotAllowed)
	equal(t, "Allow", s.visit(t, "POST", "/new").header.Get("Allow"), "GET, HEAD, OPTIONS")
	equal(
		t, "override", s.visit(t, "POST", "/new", header("X-HTTP-Method-Override", "GET")).status,
		http.StatusMethodNotAllowed,
	)
}

func TestNotices(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	for accept, json := range map[string]bool{
		"": false, "*/*": false, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": false,
		"application/json": true, "Application/JSON; charset=utf-8": true, "text/plain, application/json;q=0.9": true,
		"text/html, application/json": false, "text/html;q=0.5, application/json;q=0.8": true,
		"application/json;q=0": false, "application/json;q=x": false,
	} {
		a := s.visit(t, "GET", "/none", header("Accept", accept))
		equal(t, "status", a.status, http.StatusNotFound)
		equal(t, "Vary", a.header.Get("Vary"), "Accept")
		equal(t, "Cache-Control", a.header.Get("Cache-Control"), "no-store")
		if json {
			a.is(http.StatusNotFound, apierror.CodeURLNotFound)
			continue
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") ||
			!strings.Contains(a.body, "There is no such link") {
			t.Errorf("response to Accept: %s: %s", accept, a.body)
		}
	}
	odd := s.visit(t, "GET", "/none/qr.png?size=<script>")
	equal(t, "status", odd.status, http.StatusBadRequest)
	if strings.Contains(odd.body, "<script>") || !strings.Contains(odd.body, "&lt;script&gt;") {
		t.Errorf("the page contains what the client sent: %s", odd.body)
	}
}

func TestQRImages(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	links := c.create(`"long_url":"https://example.com/","custom_hash":"one"`).Links
	for link, side := range map[string]int{
		links.QRSmall: 200, links.QRBig: 600, "http://sho.rt/one/qr.png/": 200,
	} {
		a := s.visit(t, "GET", strings.TrimPrefix(link, "http://sho.rt"))
		equal(t, "status", a.status, http.StatusOK)
		equal(t, "Content-Type", a.header.Get("Content-Type"), "image/png")
		equal(t, "Cache-Control", a.header.Get("Cache-Control"), "public, max-age=86400")
		drawn, err := png.Decode(bytes.NewReader([]byte(a.body)))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "width", drawn.Bounds().Dx(), side)
		equal(t, "height", drawn.Bounds().Dy(), side)
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
				equal(t, "module of the finder pattern", dark(corner[0]+i*module+module/2, corner[1]+row/2), want)
			}
		}
		again := s.visit(
			t, "GET", strings.TrimPrefix(link, "http://sho.rt"), header("If-None-Match", a.header.Get("ETag")),
		)
		equal(t, "status with ETag", again.status, http.StatusNotModified)
	}
	equal(t, "other size", s.visit(t, "GET", "/one/qr.png?size=huge").status, http.StatusBadRequest)
}

func TestBaseURLOfTheRequest(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.BaseURL = "" })
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for host, want := range map[string]string{
		"localhost:8080": "http://localhost:8080/one", "[::1]:80": "http://[::1]:80/one",
	} {
		got := c.must("GET", "/v3/urls/one", "", func(r *http.Request) { r.Host = host }).URLs[0]
		equal(t, "short URL", got.ShortURLWithProtocol, want)
		equal(t, "QR link", got.Links.QRBig, want+"/qr.png?size=big")
	}
	for _, host := range []string{"", "a/b", "a b", "a@b", strings.Repeat("a", 300)} {
		c.call("GET", "/v3/urls/one", "", func(r *http.Request) { r.Host = host }).is(
			http.StatusBadRequest, apierror.CodeWrongInput,
		)
	}
}

// TestLoopToTheHostOfTheRequest checks that without a base URL a link to the host of the request is
// refused as a loop, whatever call sets it and however it is written.
func TestLoopToTheHostOfTheRequest(t *testing.T) {
	t.Parallel()
	s := newStack(t, func(cfg *Config) { cfg.BaseURL = "" })
	c := s.client(t, "alice")
	loop := func(host string) with { return func(r *http.Request) { r.Host = host } }
	for host, links := range map[string][]string{
		"links.example":       {"http://links.example/x", "https://LINKS。example./x", "http://links.example:0080"},
		"links.example:80":    {"https://links.example/x"},
		"127.0.0.1:8080":      {"http://127.1:8080/x", "http://0x7f000001:08080/", "http://[::ffff:127.0.0.1]:8080"},
		"[::1]:8080":          {"http://[0:0::1]:8080/x"},
		"xn--krz-hoa.example": {"https://kürz.example", "https://kürz.example"},
	} {
		for i, link := range links {
			body := `{"urls":[{"long_url":"` + link + `"}]}`
			c.call("POST", "/v3/urls", body, loop(host)).URLs[0].failed(
				t, apierror.CodeURLNotAllowed, "back to this service",
			)
			hash := c.create(`"long_url":"` + link + `"`).Hash // through another host
			c.must("PATCH", "/v3/urls/"+hash, `{"urls":[{"long_url":"https://example.com/"}]}`)
			c.call("PATCH", "/v3/urls/"+hash, body, loop(host)).URLs[0].failed(
				t, apierror.CodeURLNotAllowed, "back to this service",
			)
			c.call("POST", "/v3/urls/"+hash+"/restore", `{"version":0}`, loop(host)).is(
				http.StatusBadRequest, apierror.CodeURLNotAllowed,
			)
			changed := c.must("PATCH", "/v3/urls/"+hash, `{"urls":[{"note":"`+strconv.Itoa(i)+`"}]}`, loop(host))
			equal(t, "edits of other fields", changed.URLs[0].Note, strconv.Itoa(i))
		}
		c.must(
			"POST", "/v3/urls",
			`{"urls":[{"long_url":"http://links.example:8081"},{"long_url":"http://127.0.0.1:8081"}]}`, loop(host),
		)
	}
}

func TestOneOfTheTwoIsServed(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "alice")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	cfg := s.handler.(*Server).cfg
	cfg.Redirects = false
	api, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Redirects, cfg.API = true, false
	redirects, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "redirect by the API", send(t, api, "GET", "/one", "").status, http.StatusNotFound)
	equal(t, "redirect", send(t, redirects, "GET", "/one", "").status, http.StatusFound)
	equal(t, "API by redirects", send(t, redirects, "GET", "/v3/urls", "").status, http.StatusNotFound)
	c.handler = api
	c.read("one")
	for _, status := range []int{301, 302, 307, 308} {
		cfg.RedirectStatus = status
		redirects, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		a := send(t, redirects, "GET", "/one", "")
		equal(t, "status", a.status, status)
		equal(t, "Cache-Control", a.header.Get("Cache-Control"), "private, no-store")
	}
}

// TestReadsSeeTheClicksBeforeThem checks that a read immediately after a visit shows its click.
func TestReadsSeeTheClicksBeforeThem(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	c := s.client(t, "demo")
	c.create(`"long_url":"https://example.com/","custom_hash":"one"`)
	for n := int64(1); n <= 20; n++ {
		s.visit(t, http.MethodGet, "/one")
		if clicks := c.must(http.MethodGet, "/v3/stats/one", "").Stats[0].TotalClicks; clicks != n {
			t.Fatalf("%d clicks after %d visits", clicks, n)
		}
		if clicks := c.read("one").TotalClicks; clicks != n {
			t.Fatalf("the record has %d clicks after %d visits", clicks, n)
		}
	}
}
