package proxies_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/events/eventstore/eventstoretest"
	"linkledger/internal/soak"
)

// unpackedProxies is where .ci/proxies unpacks the proxies.
const unpackedProxies = "../../.tools/proxies"

// proxyPorts replaces the ports of the examples.
var proxyPorts = strings.NewReplacer("8080", "9580", "8081", "9581", "8443", "9543")

// proxied is an installation of two nodes with all proxies before it, each with its example in docker/. Only addresses,
// ports and the places of the certificate are replaced. Each node reaches its stores through networks of its own.
type proxied struct {
	*installtest.Installation

	links   []string // of the beginning
	nodes   [2]*proxiedNode
	proxies []*crowdAt
	host    string // the beginning of the addresses of this test
	folder  string
}

// proxiedNode is a node with its networks.
type proxiedNode struct {
	number      int
	base, admin string
	store       *eventstoretest.Silence
	database    *eventstoretest.Silence
	dsn         string
	process     *installtest.Child
	slow        atomic.Int64 // when it last took long for a visitor without a proxy, in nanoseconds since 1970
}

var proxiedTests atomic.Int64

func newProxied(t *testing.T) *proxied {
	t.Helper()
	i := &installtest.Installation{T: t, Folder: t.TempDir(), Program: e2etest.Program, StoreAddress: installtest.FreeAddress(t)}
	i.StartStore()
	i.StartDatabase()
	t.Cleanup(i.StopDatabase)
	p := &proxied{
		Installation: i, folder: t.TempDir(),
		host: fmt.Sprintf("127.%d.%d.", 64+os.Getpid()%128, proxiedTests.Add(1)),
	}
	store := i.StoreAddress
	for n := range p.nodes {
		node := &proxiedNode{
			number: n + 1, store: eventstoretest.Silenced(t, "tcp", store),
			base:  fmt.Sprintf("http://%s%d:9580", p.host, n+1),
			admin: fmt.Sprintf("http://%s%d:9581", p.host, n+1),
		}
		node.database, node.dsn = installtest.DSNThrough(t, i)
		p.nodes[n] = node
		p.start(node)
	}
	i.Base, i.StoreAddress, i.DSN = p.nodes[0].base, store, ""
	i.OpenAccount()
	for _, node := range p.nodes {
		p.awaitReady(node)
	}
	p.writeCertificate()
	for n, start := range []func(string) (string, *exec.Cmd){p.nginx, p.haproxy, p.caddy} {
		p.startProxy(fmt.Sprintf("%s%d", p.host, 11+n), start)
	}
	return p
}

// start starts a node.
func (p *proxied) start(node *proxiedNode) {
	p.T.Helper()
	p.StoreAddress, p.DSN = node.store.Addr().String(), node.dsn
	node.process = p.Serve(
		node.base, node.admin, fmt.Sprintf("spool %d", node.number),
		"--drain-delay=5s", "--trusted-proxies=127.0.0.0/8",
	)
}

func (p *proxied) awaitReady(node *proxiedNode) {
	p.T.Helper()
	p.Eventually("the node is ready", func() bool { return node.answers("/health/ready") == http.StatusOK })
}

// answers returns the status of a probe; 0: there is no answer.
func (n *proxiedNode) answers(probe string) int {
	response, err := http.Get(n.admin + probe)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// example returns an example of docker/ with the addresses of this test.
func (p *proxied) example(address, file string) string {
	p.T.Helper()
	text, err := os.ReadFile(filepath.Join("../../docker", file))
	if err != nil {
		p.T.Fatal(err)
	}
	// The name of the folder may have the digits of a port.
	return strings.NewReplacer(
		"/run/secrets/", p.folder+"/",
		"linkledger1:", p.host+"1:", "linkledger2:", p.host+"2:", // not the names of HAProxy's servers
		" resolve max_fails", " max_fails", "resolver 127.0.0.11 valid=5s;", "", // of a later nginx
		"listen 9543", "listen "+address+":9543", "bind :9543", "bind "+address+":9543",
		"https://:9543 {", "https://:9543 {\n\tbind "+address,
	).Replace(proxyPorts.Replace(string(text)))
}

// write writes a file for a proxy and returns its path.
func (p *proxied) write(name, text string) string {
	p.T.Helper()
	path := filepath.Join(p.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.T.Fatal(err)
	}
	return path
}

func (p *proxied) nginx(address string) (string, *exec.Cmd) {
	server := p.write("nginx.server", p.example(address, "nginx/linkledger.conf"))
	main := p.write("nginx.conf", "user root; worker_processes 1; daemon off; pid nginx.pid;\nevents {}\n"+
		"http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; "+
		"uwsgi_temp_path uwsgi; scgi_temp_path scgi; include "+server+"; }\n")
	return "nginx", proxyCommand("nginx", "-e", "stderr", "-p", p.folder, "-c", main)
}

func (p *proxied) haproxy(address string) (string, *exec.Cmd) {
	config := p.write("haproxy.cfg", p.example(address, "haproxy/haproxy.cfg"))
	return "HAProxy", proxyCommand("haproxy", "-db", "-f", config)
}

func (p *proxied) caddy(address string) (string, *exec.Cmd) {
	config := p.write("Caddyfile", p.example(address, "caddy/Caddyfile"))
	command := proxyCommand("caddy", "run", "--adapter", "caddyfile", "--config", config)
	command.Env = append(command.Env, "HOME="+p.folder, "XDG_DATA_HOME="+p.folder, "XDG_CONFIG_HOME="+p.folder)
	return "Caddy", command
}

// proxyCommand returns a command of a proxy that is installed or unpacked.
func proxyCommand(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Env = os.Environ()
	for _, folder := range []string{
		"/usr/sbin", "/usr/bin", unpackedProxies + "/usr/sbin", unpackedProxies + "/usr/bin",
	} {
		if path := filepath.Join(folder, name); command.Err != nil && exists(path) {
			command.Path, command.Err = path, nil
		}
	}
	if libraries, err := filepath.Glob(unpackedProxies + "/usr/lib/*-linux-*"); err == nil && len(libraries) > 0 {
		if absolute, err := filepath.Abs(libraries[0]); err == nil {
			command.Env = append(command.Env, "LD_LIBRARY_PATH="+absolute)
		}
	}
	return command
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// startProxy starts a proxy and waits until it answers.
func (p *proxied) startProxy(address string, start func(string) (string, *exec.Cmd)) {
	p.T.Helper()
	name, command := start(address)
	if command.Err != nil {
		p.T.Fatalf("%v: run .ci/proxies, or make test", command.Err)
	}
	var output strings.Builder
	command.Stdout, command.Stderr = &output, &output
	if err := command.Start(); err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // with its workers, which SIGKILL would leave
		late := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() })
		_ = command.Wait() // its exit code does not matter
		late.Stop()
		if said := output.String(); p.T.Failed() && said != "" {
			p.T.Logf("%s wrote:\n%s", name, said[max(0, len(said)-installtest.MostSaid):])
		}
	})
	c := &crowdAt{name: name, base: "https://" + address + ":9543", of: p}
	p.Eventually(name+" answers", func() bool {
		conn, err := net.Dial("tcp", address+":9543")
		return err == nil && conn.Close() == nil
	})
	p.proxies = append(p.proxies, c)
}

// writeCertificate writes the certificate of the proxies as they want it.
func (p *proxied) writeCertificate() {
	p.T.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.T.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	for n := 11; n < 15; n++ {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(fmt.Sprintf("%s%d", p.host, n)))
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		p.T.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		p.T.Fatal(err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}))
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	for name, text := range map[string]string{
		"tls_certificate": certificate, "tls_key": private, "tls.pem": certificate, "tls.pem.key": private,
	} {
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600); err != nil {
			p.T.Fatal(err)
		}
	}
}

// TestProxies kills, pauses, cuts off and replaces nodes behind nginx, HAProxy and Caddy, with the examples in docker/.
// While one node works, no visitor of a link gets anything but its redirect. No create fails while nodes are replaced,
// no answered create is missing, and no answered click. Live pages are not buffered.
func TestProxies(t *testing.T) {
	t.Parallel()
	p := newProxied(t)
	for _, c := range p.proxies {
		c.begin()
	}
	p.watchPages()
	for _, node := range p.nodes {
		p.proxies[0].work(func(client *http.Client) { p.probe(node, client) })
	}
	for range soak.N(1, 5) {
		p.fault("killed", p.nodes[0], func(node *proxiedNode) {
			node.process.Kill()
			p.awaitVisits(20)
			p.start(node)
		})
		p.fault("paused", p.nodes[1], func(node *proxiedNode) {
			p.signal(node, syscall.SIGSTOP)
			p.awaitVisits(12)
			p.signal(node, syscall.SIGCONT)
		})
		p.fault("cut off", p.nodes[0], func(node *proxiedNode) {
			node.store.Begin()
			node.database.Begin()
			p.Eventually("the node cannot write", func() bool {
				return node.answers("/health/ready/writes") == http.StatusServiceUnavailable
			})
			p.awaitVisits(20)
			node.store.End()
			node.database.End()
		})
		for range soak.N(1, 4) {
			for _, node := range p.nodes {
				failed := p.failedCreates()
				p.fault("replaced", node, func(node *proxiedNode) {
					p.signal(node, syscall.SIGTERM)
					select {
					case <-node.process.Ended:
					case <-time.After(e2etest.StartTimeout):
						t.Fatal("the node does not end")
					}
					p.start(node)
				})
				if more := p.failedCreates(); fmt.Sprint(more) != fmt.Sprint(failed) {
					t.Errorf("creates failed while a node was replaced: %v, before %v", more, failed)
				}
			}
		}
	}
	for _, c := range p.proxies {
		c.end()
		t.Logf("%s: %d redirects, %d reads, %d creates, failed: %d reads, %d creates; slowest redirect %s; "+
			"failed on a busy machine: %d", c.name,
			c.redirected.Load(), c.read.Load(), c.created.Load(), c.failedReads.Load(), c.failedCreates.Load(),
			time.Duration(c.slowest.Load()).Round(time.Millisecond), c.excused.Load())
	}
	p.compare()
}

// fault lets something happen to a node under load, with links that no node has met before, and waits until the node
// works again.
func (p *proxied) fault(what string, node *proxiedNode, happens func(*proxiedNode)) {
	p.T.Helper()
	p.newLinks()
	for _, c := range p.proxies {
		c.during.Store(&what)
	}
	began := time.Now()
	happens(node)
	p.awaitReady(node)
	p.awaitVisits(10)
	node.slow.Store(0) // that was the fault
	p.T.Logf("node %d %s, and back after %s", node.number, what, time.Since(began).Round(time.Millisecond))
}

// probe visits a node without a proxy, and notes when it takes long.
func (p *proxied) probe(node *proxiedNode, client *http.Client) {
	at := &crowdAt{base: node.base, of: p, ctx: p.proxies[0].ctx}
	began := time.Now()
	response, _, err := at.send(client, http.MethodHead, "/"+p.links[0], "")
	if err != nil || response.StatusCode != http.StatusFound || time.Since(began) > time.Second {
		node.slow.Store(time.Now().UnixNano())
	}
	<-time.After(proxyPause)
}

// oneWorks reports whether at least one node has answered every visitor in time for a while. On a machine that is too
// busy, none does.
func (p *proxied) oneWorks() bool {
	for _, node := range p.nodes {
		if time.Since(time.Unix(0, node.slow.Load())) > 10*time.Second {
			return true
		}
	}
	return false
}

func (p *proxied) signal(node *proxiedNode, signal syscall.Signal) {
	p.T.Helper()
	if err := node.process.Process.Process.Signal(signal); err != nil {
		p.T.Fatal(err)
	}
}

var anyCertificate = &tls.Config{InsecureSkipVerify: true}
