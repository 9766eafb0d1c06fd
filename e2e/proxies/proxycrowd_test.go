package proxies_test

import (
	"bufio"
	"context"
	cryptorand "crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linkledger/e2e/e2etest"
)

// crowdAt is people at a proxy: visitors, one who reads and one who creates links.
type crowdAt struct {
	name, base string
	of         *proxied

	ctx     context.Context //nolint:containedctx // ends with end
	stop    context.CancelFunc
	workers sync.WaitGroup

	during                             atomic.Pointer[string] // the fault of now
	redirected, read, created          atomic.Int64
	failedReads, failedCreates, errors atomic.Int64
	excused                            atomic.Int64 // failed when no node answered in time without a proxy either
	slowest                            atomic.Int64 // redirect, in nanoseconds

	mu    sync.Mutex
	links []string // that may be visited
	made  []string
}

// proxyPause is between two requests of one person: the faults are to be met, and not the limits of the machine.
const proxyPause = 20 * time.Millisecond

func (c *crowdAt) begin() {
	c.ctx, c.stop = context.WithCancel(c.of.T.Context())
	none := "not yet touched"
	c.during.Store(&none)
	c.of.newLinks()
	for range 3 {
		c.work(c.visit)
	}
	c.work(c.list)
	c.work(c.create)
	c.work(c.createNamed)
	c.work(c.giveUp)
}

// work repeats a request until the end, over connections of its own.
func (c *crowdAt) work(request func(*http.Client)) {
	transport := &http.Transport{TLSClientConfig: anyCertificate}
	client := &http.Client{Transport: transport, CheckRedirect: e2etest.NoRedirects.CheckRedirect, Timeout: e2etest.StartTimeout}
	c.workers.Go(func() {
		defer transport.CloseIdleConnections()
		for c.ctx.Err() == nil {
			request(client)
			select {
			case <-c.ctx.Done():
			case <-time.After(proxyPause):
			}
		}
	})
}

func (c *crowdAt) end() {
	c.stop()
	c.workers.Wait()
}

// reply is the head of an answer; the zero value: there was none.
type reply struct {
	StatusCode int
	Status     string
	Cookies    []*http.Cookie
}

// send makes a request that does not end with the crowd. header has names and values.
func (c *crowdAt) send(client *http.Client, method, path, body string, header ...string) (reply, string, error) {
	request, err := http.NewRequestWithContext(
		context.WithoutCancel(c.ctx), method, c.base+path, strings.NewReader(body),
	)
	if err != nil {
		return reply{}, "", err
	}
	request.Header.Set("User-Agent", "Lynx/2.9 visitor")
	for pair := range slices.Chunk(header, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	if strings.HasPrefix(path, "/v3") {
		request.SetBasicAuth(e2etest.DemoUser, c.of.Key)
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return reply{}, "", err
	}
	answer, err := io.ReadAll(response.Body)
	head := reply{response.StatusCode, response.Status, response.Cookies()}
	return head, string(answer), errors.Join(err, response.Body.Close())
}

func (c *crowdAt) visit(client *http.Client) {
	c.mu.Lock()
	link := c.links[rand.IntN(len(c.links))]
	c.mu.Unlock()
	began := time.Now()
	response, answer, err := c.send(client, http.MethodGet, "/"+link, "")
	took := time.Since(began)
	if err != nil || response.StatusCode != http.StatusFound {
		if !c.of.oneWorks() {
			c.excused.Add(1)
		} else if c.errors.Add(1) <= 5 {
			c.of.T.Errorf(
				"%s, node %s: after %s a visitor got %s", c.name, *c.during.Load(), took,
				describe(response, answer, err),
			)
		}
		return
	}
	c.slowest.Store(max(c.slowest.Load(), int64(took)))
	c.redirected.Add(1)
}

// giveUp sends half a request and goes: what a stranger can always do MUST take no node from the others.
func (c *crowdAt) giveUp(*http.Client) {
	c.mu.Lock()
	link := c.links[rand.IntN(len(c.links))]
	c.mu.Unlock()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.base, "https://"), anyCertificate)
	if err != nil {
		c.of.T.Errorf("%s, node %s: a connection: %v", c.name, *c.during.Load(), err)
		return
	}
	request := []string{
		"GET /" + link, "POST /v3/urls", "POST /v3/sessions", "PUT /" + link, "POST /console/sign-in",
	}[rand.IntN(5)] + " HTTP/1.1\r\nHost: " + strings.TrimPrefix(c.base, "https://") + "\r\n"
	if strings.HasPrefix(request, "POST /v3/urls") {
		request += "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(e2etest.DemoUser+":"+c.of.Key)) + "\r\n"
	}
	_, _ = conn.Write([]byte(request + "Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"))
	_ = conn.Close()
}

func describe(response reply, answer string, err error) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %.300s", response.Status, answer)
}

func (c *crowdAt) list(client *http.Client) {
	response, _, err := c.send(client, http.MethodGet, "/v3/urls?limit=5", "")
	if err != nil || response.StatusCode != http.StatusOK {
		c.failedReads.Add(1)
		return
	}
	c.read.Add(1)
}

const oneLink = `{"urls":[{"long_url":"https://example.com/"}]}`

func (c *crowdAt) create(client *http.Client) {
	response, answer, err := c.send(client, http.MethodPost, "/v3/urls", oneLink)
	if failed := c.noteCreate(response, answer, err); failed != "" && c.failedCreates.Add(1) <= 10 {
		c.of.T.Logf("%s, node %s: a create got %s", c.name, *c.during.Load(), failed)
	}
}

// createNamed makes a call that the proxy repeats, so it MUST NOT fail. Caddy repeats no call that was sent.
func (c *crowdAt) createNamed(client *http.Client) {
	response, answer, err := c.send(client, http.MethodPost, "/v3/urls", oneLink, "Idempotency-Key", cryptorand.Text())
	if failed := c.noteCreate(response, answer, err); failed != "" && c.name != "Caddy" && c.errors.Add(1) <= 5 {
		c.of.T.Errorf("%s, node %s: a create with an Idempotency-Key got %s", c.name, *c.during.Load(), failed)
	}
}

// noteCreate keeps what an answer to a create has made. It returns why it failed, or nothing.
func (c *crowdAt) noteCreate(response reply, answer string, err error) (failed string) {
	hashes := createdHashes(answer)
	if err != nil || response.StatusCode != http.StatusOK || len(hashes) != 1 {
		if c.of.oneWorks() {
			return describe(response, answer, err)
		}
		c.excused.Add(1)
		return ""
	}
	c.created.Add(1)
	c.mu.Lock()
	c.made = append(c.made, hashes[0])
	c.mu.Unlock()
	return ""
}

// createdHashes returns the hashes of an answer to a create.
func createdHashes(answer string) (hashes []string) {
	var made struct {
		URLs []struct {
			Hash  string `json:"hash"`
			Error struct {
				Code int `json:"code"`
			} `json:"error"`
		} `json:"urls"`
	}
	if json.Unmarshal([]byte(answer), &made) != nil {
		return nil
	}
	for _, url := range made.URLs {
		if url.Error.Code == 0 && url.Hash != "" {
			hashes = append(hashes, url.Hash)
		}
	}
	return hashes
}

// newLinks creates links, and lets the visitors follow them and a few older ones.
func (p *proxied) newLinks() {
	p.T.Helper()
	body := `{"urls":[` + strings.TrimSuffix(strings.Repeat(`{"long_url":"https://example.com/"},`, 50), ",") + "]}"
	node := &crowdAt{base: p.nodes[0].base, of: p, ctx: p.T.Context()}
	var links []string
	p.Eventually("links are created", func() bool {
		_, answer, err := node.send(http.DefaultClient, http.MethodPost, "/v3/urls", body)
		links = createdHashes(answer)
		return err == nil && len(links) == 50
	})
	for _, n := range p.nodes {
		at := &crowdAt{base: n.base, of: p, ctx: p.T.Context()}
		p.Eventually("the links are there", func() bool {
			response, _, err := at.send(e2etest.NoRedirects, http.MethodHead, "/"+links[len(links)-1], "")
			return err == nil && response.StatusCode == http.StatusFound
		})
	}
	if p.links == nil {
		p.links = links
	}
	for _, c := range p.proxies {
		c.mu.Lock()
		c.links = append(links[:len(links):len(links)], c.links[:min(len(c.links), 20)]...)
		c.made = append(c.made, links...)
		c.mu.Unlock()
	}
}

// awaitVisits waits until each proxy has redirected so many more visitors.
func (p *proxied) awaitVisits(more int64) {
	p.T.Helper()
	for _, c := range p.proxies {
		want := c.redirected.Load() + more
		p.Eventually(c.name+" redirects", func() bool { return c.redirected.Load() >= want })
	}
}

// failedCreates returns how many creates have failed at each proxy.
func (p *proxied) failedCreates() (failed []int64) {
	for _, c := range p.proxies {
		failed = append(failed, c.failedCreates.Load())
	}
	return failed
}

// compare checks that every link that was answered is there, and every click.
func (p *proxied) compare() {
	p.T.Helper()
	visited := int64(0)
	for _, c := range p.proxies {
		visited += c.redirected.Load()
		client := &http.Client{
			Transport: &http.Transport{TLSClientConfig: anyCertificate}, CheckRedirect: e2etest.NoRedirects.CheckRedirect,
		}
		for _, link := range c.made {
			response, answer, err := c.send(client, http.MethodHead, "/"+link, "")
			if err != nil || response.StatusCode != http.StatusFound {
				p.T.Errorf("%s: link %s, which was answered: %s", c.name, link, describe(response, answer, err))
				break
			}
		}
		client.CloseIdleConnections()
	}
	node := &crowdAt{base: p.nodes[0].base, of: p, ctx: p.T.Context()}
	counted := int64(0)
	p.Eventually(fmt.Sprintf("%d clicks are counted", visited), func() bool {
		counted = 0
		for offset := 0; ; offset += 1000 {
			path := fmt.Sprintf("/v3/urls?limit=1000&offset=%d", offset)
			_, answer, err := node.send(http.DefaultClient, http.MethodGet, path, "")
			var page struct {
				URLs []struct {
					Clicks int64 `json:"total_clicks"`
				} `json:"urls"`
			}
			if err != nil || json.Unmarshal([]byte(answer), &page) != nil {
				return false
			}
			for _, url := range page.URLs {
				counted += url.Clicks
			}
			if len(page.URLs) < 1000 {
				return counted >= visited
			}
		}
	})
	p.T.Logf("%d clicks are counted, %d were answered", counted, visited)
}

// watchPages watches the page of a link through each proxy, and checks that what changes is shown at once.
func (p *proxied) watchPages() {
	p.T.Helper()
	node := &crowdAt{base: p.nodes[0].base, of: p, ctx: p.T.Context()}
	started, answer, err := node.send(http.DefaultClient, http.MethodPost, "/v3/sessions", "{}")
	if err != nil || len(started.Cookies) != 1 {
		p.T.Fatalf("a session: %s", describe(started, answer, err))
	}
	link := p.proxies[0].links[0]
	for _, c := range p.proxies {
		ctx, cancel := context.WithTimeout(p.T.Context(), e2etest.StartTimeout)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/console/links/"+link, nil)
		if err != nil {
			p.T.Fatal(err)
		}
		request.Header.Set("Accept", "text/event-stream")
		request.AddCookie(started.Cookies[0])
		transport := &http.Transport{TLSClientConfig: anyCertificate}
		response, err := transport.RoundTrip(request)
		if err != nil {
			p.T.Fatalf("%s: %v", c.name, err)
		}
		lines := bufio.NewScanner(response.Body)
		shown := func(is func(line string) bool) {
			for lines.Scan() {
				if is(lines.Text()) {
					return
				}
			}
			p.T.Fatalf("%s: the live page ends: %s, %v", c.name, response.Status, ctx.Err())
		}
		shown(func(line string) bool { return strings.Contains(line, "<dt>Clicks</dt>") })
		shown(func(line string) bool { return line == "" })
		shown(func(line string) bool { return line == ":" || strings.HasPrefix(line, "data:") }) // it goes on
		cancel()
		_ = response.Body.Close()
		transport.CloseIdleConnections()
	}
}
