package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linkledger/commands/audit"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

const (
	siteHost   = "sho.rt"
	siteURL    = "https://" + siteHost
	siteCookie = "__Host-linkledger"
	siteMaster = "--master-key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

	clientSecret = "a secret of the client: for tests"
)

// Codes of errors of the API.
const (
	accessDenied = 1217.0
	noSession    = 1300.0
)

// site is an installation where people sign in. Two services have one base URL, as behind a load
// balancer that ends TLS.
type site struct {
	*installation

	t      *testing.T // the scenario that runs
	issuer *openidtest.Issuer
	nodes  []*node
	ways   []*http.Client // to the nodes, without cookies
	asking *sync.Mutex    // the issuer signs in one person at a time
	opened *atomic.Uint32 // browsers
}

// startSite starts an installation whose services have the client secret in a file.
func startSite(t *testing.T) *site {
	t.Helper()
	s := &site{
		installation: notStarted(t), t: t, issuer: openidtest.New(t), asking: new(sync.Mutex), opened: new(atomic.Uint32),
	}
	t.Cleanup(s.stopDatabase)
	s.issuer.Register(openidtest.Client{
		ID: "linkledger", Secret: clientSecret, RedirectURLs: []string{siteURL + signin.CallbackPath},
	})
	file := filepath.Join(s.folder, "client secret")
	if err := os.WriteFile(file, []byte(clientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.environment = []string{"LINKLEDGER_OIDC_CLIENT_SECRET_FILE=" + file}
	s.startStore()
	flags := []string{
		"--oidc-issuer", s.issuer.URL, "--oidc-client-id", "linkledger", "--oidc-groups",
		"staff=acme:editor;ops=operator", "--base-url", siteURL, "--trusted-proxies=127.0.0.1/32",
		"--wait-timeout=8s",
	}
	refusesToServe(s, flags)
	flags = append(flags, siteMaster)
	admins := []string{s.admin, "http://" + freeAddress(t)}
	for n, base := range []string{s.base, "http://" + freeAddress(t)} {
		s.nodes = append(s.nodes, &node{nil, base, admins[n], fmt.Sprint("spool ", n), flags})
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", base[len("http://"):])
		}
		way := &http.Transport{DialTLSContext: dial, MaxIdleConnsPerHost: racers}
		t.Cleanup(way.CloseIdleConnections)
		s.ways = append(s.ways, &http.Client{Transport: way, CheckRedirect: noRedirects.CheckRedirect})
	}
	startNode(s, 0)
	startNode(s, 1)
	return s
}

// refusesToServe checks that a service without master key ends at once and names the flag.
func refusesToServe(s *site, flags []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), startTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, slices.Concat([]string{
		"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool", s.t.TempDir(), "--log-level=error",
	}, s.backends(), flags)...).CombinedOutput()
	wantOneLine(s.t, out, err, "give --master-key (LINKLEDGER_MASTER_KEY) with --oidc-issuer")
}

// within returns the site for a scenario.
func within(t *testing.T, s *site) *site {
	t.Helper()
	of := *s
	of.t = t
	return &of
}

func startNode(s *site, n int) {
	s.t.Helper()
	at := s.nodes[n]
	at.child = s.serve(at.base, at.admin, at.spool, at.flags...)
}

// runOperator runs a command on the installation and returns its output. The command must succeed.
func runOperator(s *site, args ...string) string {
	s.t.Helper()
	out, log, code := s.operate(append(args, siteMaster)...)
	if code != 0 {
		s.t.Fatalf("%v ended with %d: %s%s", args, code, out, log)
	}
	return out
}

// readOutput reads the JSON that a command prints.
func readOutput(s *site, into any, args ...string) {
	s.t.Helper()
	if out := runOperator(s, args...); json.Unmarshal([]byte(out), into) != nil {
		s.t.Fatalf("output of %v: %s", args, out)
	}
}

// tenant is an account with its first key.
type tenant struct {
	*site

	username, key string
}

func openTenant(s *site, username string) tenant {
	s.t.Helper()
	var opened openedAccount
	readOutput(s, &opened, "account", "create", "--username", username, "--json")
	return tenant{s, username, opened.APIKey}
}

// must makes a call with the key of the account. The call must succeed.
func (a tenant) must(node int, method, path, body string) map[string]any {
	a.t.Helper()
	answer, err := callAs(a.t.Context(), a.nodes[node].base, a.username, a.key, method, path, body)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer
}

// employ gives a person a role in the account.
func (a tenant) employ(id, role string) {
	a.t.Helper()
	a.must(0, "PUT", "/members", fmt.Sprintf(`{"id":%q,"role":%q}`, id, role))
}

// member signs in a person, who gets a role in the account.
func (a tenant) member(of openidtest.Person, role string) signedIn {
	a.t.Helper()
	in := a.signIn(of)
	a.employ(in.id, role)
	in.must(1, "PATCH", "/session", fmt.Sprintf(`{"account":%q}`, a.username))
	return in
}

// members returns the members of the account as the command line lists them.
func (a tenant) members() (members []listedMember) {
	a.t.Helper()
	readOutput(a.site, &members, "account", "member", "list", "--username", a.username, "--json")
	return members
}

// peopleOf returns the persons with a subject.
func peopleOf(s *site, subject string) (people []listedPerson) {
	s.t.Helper()
	readOutput(s, &people, "person", "list", "--json")
	return slices.DeleteFunc(people, func(p listedPerson) bool { return p.Subject != subject })
}

// browser keeps cookies. Each has an address of its own, because those who sign in are throttled by
// address.
type browser struct {
	*site

	jar     *cookiejar.Jar
	address string
}

func (s *site) browser() *browser {
	jar, _ := cookiejar.New(nil) // never fails
	n := s.opened.Add(1)
	return &browser{s, jar, fmt.Sprintf("198.18.%d.%d", n/256, n%256)}
}

// open opens a page through a node and returns where it leads.
func (b *browser) open(node int, path string) (location string, err error) {
	client := *b.ways[node]
	client.Jar = b.jar
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, siteURL+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Forwarded-For", b.address)
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusSeeOther {
		err = fmt.Errorf("GET %s answers %s", path, response.Status)
	}
	return response.Header.Get("Location"), errors.Join(err, response.Body.Close())
}

// signIn signs a person in. The sign-in begins at one node and ends at another one.
func (b *browser) signIn(begin, end int, person openidtest.Person) (signedIn, error) {
	location, err := b.open(begin, signin.BeginPath+"?return=/console/links")
	if err != nil {
		return signedIn{}, err
	}
	b.asking.Lock()
	b.issuer.SignIn(person)
	back := openidtest.Visit(b.t, nil, location)
	b.asking.Unlock()
	if location, err = b.open(end, back.RequestURI()); err != nil {
		return signedIn{}, err
	}
	cookies := b.jar.Cookies(&url.URL{Scheme: "https", Host: siteHost, Path: "/"})
	i := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == siteCookie })
	if location != "/console/links" || i < 0 {
		return signedIn{}, fmt.Errorf("the sign-in leads to %s, with the cookies %v", location, cookies)
	}
	in := signedIn{site: b.site, cookie: cookies[i]}
	answer, err := in.call(end, "GET", "/session", "")
	if err == nil {
		in.session = answer["session"].(map[string]any)
		in.id = in.session["user"].(string)
	}
	return in, err
}

// signIn signs a person in with a new browser. The sign-in must succeed.
func (s *site) signIn(person openidtest.Person) signedIn {
	s.t.Helper()
	in, err := s.browser().signIn(0, 1, person)
	if err != nil {
		s.t.Fatal(err)
	}
	return in
}

// person returns somebody in groups of the issuer.
func person(subject, name string, groups ...string) openidtest.Person {
	return openidtest.Person{Subject: subject, Name: name, Mail: subject + "@example.com", Groups: groups}
}

// signedIn is a person with a session. It keeps the cookie that the sign-in gave, also when a
// service ends it.
type signedIn struct {
	*site

	cookie  *http.Cookie
	id      string         // of the person
	session map[string]any // as the API described it after the sign-in
}

// call sends an API request with the cookie, as a page of the site would.
func (in signedIn) call(node int, method, path, body string) (map[string]any, error) {
	request, err := http.NewRequestWithContext(in.t.Context(), method, siteURL+"/v3"+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", siteURL)
	request.AddCookie(in.cookie)
	return answerThrough(in.ways[node], request)
}

func (in signedIn) must(node int, method, path, body string) map[string]any {
	in.t.Helper()
	answer, err := in.call(node, method, path, body)
	if err != nil {
		in.t.Fatal(err)
	}
	return answer
}

// refused checks that a call fails with a code.
func (in signedIn) refused(code float64, node int, method, path, body string) {
	in.t.Helper()
	answer, err := in.call(node, method, path, body)
	if err == nil || answer == nil || answer["error"].(map[string]any)["code"] != code {
		in.t.Errorf("%s %s through node %d: %v, %v; want the code %v", method, path, node, answer, err, code)
	}
}

// sessionEnded checks that no node accepts the session.
func sessionEnded(in signedIn, nodes ...int) {
	in.t.Helper()
	for _, node := range nodes {
		in.refused(noSession, node, "GET", "/session", "")
		in.refused(noSession, node, "POST", "/urls", createLink(""))
	}
}

// createLink returns the body of a call that creates a link.
func createLink(hash string) string {
	return fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/","custom_hash":%q}]}`, hash)
}

// actorsOf returns who caused the events of a hash, as the command line says it.
func actorsOf(s *site, hash string, flags ...string) (actors []audit.Actor) {
	s.t.Helper()
	var history struct {
		Events []audit.Entry `json:"events"`
	}
	readOutput(s, &history, append([]string{"audit", "history", hash, "--format", "json"}, flags...)...)
	for _, e := range history.Events {
		actors = append(actors, e.Actor)
	}
	return actors
}

// TestPeople signs people in at two services on one event store and one database.
func TestPeople(t *testing.T) { //nolint:tparallel // the scenarios share one installation
	t.Parallel()
	s := startSite(t)
	for _, scenario := range []struct {
		name string
		run  func(*site)
	}{
		{"members", haveMembers},
		{"operators", endOperators},
		{"races", endSessionsInUse},
		{"killed after the answer", killAfterEnd},
		{"killed during sign-ins", killDuringSignIns},
		{"erased", erasePeople},
		{"erased with their account", eraseAccount},
		{"audited", auditPeople},
	} {
		if !t.Run(scenario.name, func(t *testing.T) { scenario.run(within(t, s)) }) {
			break // what follows would fail too
		}
	}
}

// haveMembers gives roles to a person by groups and by hand, and takes them away again.
func haveMembers(s *site) {
	acme := openTenant(s, "acme")
	grace := person("grace", "Grace Hopper", "staff", "another")
	in := s.signIn(grace)
	if in.session["user_name"] != grace.Name || in.session["account"] != "acme" || in.session["role"] != "editor" ||
		in.session["operator"] != false {
		s.t.Errorf("the session is %v", in.session)
	}
	if ops := s.signIn(person("olga", "Olga", "ops")); ops.session["operator"] != true || ops.session["account"] != nil {
		s.t.Errorf("the session of an operator is %v", ops.session)
	}
	in.must(0, "POST", "/urls", createLink("graces"))
	in.must(1, "PATCH", "/urls/graces", `{"urls":[{"note":"by Grace"}]}`)
	acme.must(0, "PATCH", "/urls/graces", `{"urls":[{"note":"by a key"}]}`)
	for _, by := range []string{in.id, grace.Name} {
		actors := actorsOf(s, "graces", "--by", by)
		if len(actors) < 3 || slices.ContainsFunc(actors, func(a audit.Actor) bool {
			return a.User != in.id || a.UserName != grace.Name || a.Via != "console" || a.Key != ""
		}) {
			s.t.Errorf("what %s did was done by %+v", by, actors)
		}
	}
	if all, hers := actorsOf(s, "graces"), actorsOf(s, "graces", "--by", in.id); len(all) != len(hers)+1 {
		s.t.Errorf("%d of %d events are hers; want all but one", len(hers), len(all))
	}
	if table := runOperator(s, "audit", "history", "graces"); !strings.Contains(table, grace.Name+", person "+in.id) {
		s.t.Errorf("the history does not name her:\n%s", table)
	}
	listed := listedPerson{ID: in.id, Issuer: s.issuer.URL, Subject: "grace", Name: grace.Name, Mail: grace.Mail}
	if people := peopleOf(s, "grace"); len(people) != 1 || people[0] != listed {
		s.t.Errorf("listed are %+v, want %+v", people, listed)
	}
	member := listedMember{ID: in.id, Name: grace.Name, Mail: grace.Mail, Role: "editor", Group: "staff"}
	if members := acme.members(); len(members) != 1 || members[0] != member {
		s.t.Errorf("the members are %+v, want %+v", members, member)
	}

	runOperator(s, "account", "member", "set", "--username", "acme", in.id, "viewer")
	sessionEnded(in, 0, 1)
	member.Role, member.Group = "viewer", ""
	if members := acme.members(); len(members) != 1 || members[0] != member {
		s.t.Errorf("after the change the members are %+v, want %+v", members, member)
	}
	viewer := s.signIn(grace)
	viewer.must(0, "GET", "/urls/graces", "")
	viewer.refused(accessDenied, 1, "POST", "/urls", createLink(""))
	runOperator(s, "account", "member", "remove", "--username", "acme", in.id)
	sessionEnded(viewer, 0, 1)
	if members := acme.members(); len(members) > 0 {
		s.t.Errorf("after the removal there are the members %+v", members)
	}
	if table := runOperator(s, "audit", "history", "graces", "--by", grace.Name); !strings.Contains(table, "person "+in.id) {
		s.t.Errorf("the history does not name a former member:\n%s", table)
	}
	out, log, code := s.operate("account", "member", "remove", "--username", "acme", in.id, siteMaster)
	if code != exitUsage || !strings.Contains(log, "There is no member") {
		s.t.Errorf("the second removal ended with %d: %s%s", code, out, log)
	}
}

// endSessionsInUse ends sessions while clients use them through both nodes.
func endSessionsInUse(s *site) {
	club := openTenant(s, "club")
	for name, end := range map[string]func(in signedIn){
		"member":  func(in signedIn) { club.must(1, "DELETE", "/members/"+in.id, "") },
		"role":    func(in signedIn) { club.employ(in.id, "auditor") },
		"session": func(in signedIn) { club.must(1, "DELETE", "/sessions/"+in.session["id"].(string), "") },
	} {
		in := club.member(person("ivan-"+name, "Ivan"), "editor")
		body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%s"}]}`, name)
		carriedOut := endInUse(s.t, func(client int) (map[string]any, error) {
			return in.call(client%2, "POST", "/urls", body)
		}, func() { end(in) })
		sessionEnded(in, 0, 1)
		var found any
		for late := time.Now().Add(startTimeout); found != float64(carriedOut) && time.Now().Before(late); {
			found = club.must(0, "GET", "/urls?limit=1&search="+name, "")["page"].(map[string]any)["total_count"]
		}
		if found != float64(carriedOut) || carriedOut < racers {
			s.t.Errorf("%s: %d calls of %d clients succeeded, but there are %v links", name, carriedOut, racers, found)
		}
	}
}

// killAfterEnd kills the node that has just answered that sessions have ended.
func killAfterEnd(s *site) {
	shop := openTenant(s, "shop")
	kept := shop.member(person("jane", "Jane"), "editor")
	removed := shop.member(person("karl", "Karl"), "editor")
	left := s.signIn(person("karl", "Karl"))
	left.must(0, "DELETE", "/session", "")
	shop.must(0, "DELETE", "/members/"+removed.id, "")
	s.nodes[0].kill()
	sessionEnded(left, 1)
	sessionEnded(removed, 1)
	startNode(s, 0)
	sessionEnded(left, 0, 1)
	sessionEnded(removed, 0, 1)
	kept.must(0, "POST", "/urls", createLink("janes"))
}

// killDuringSignIns kills a node while persons sign in through both, each for the first time.
func killDuringSignIns(s *site) {
	const persons = 6
	for round := range soak.N(1, 20) {
		victim := 1 - round%2
		var mu sync.Mutex
		ids := make([]map[string]bool, persons)
		subject := func(n int) string { return fmt.Sprintf("laura-%d-%d", round, n) }
		signIn := func(n, node int) error {
			in, err := s.browser().signIn(node, node, person(subject(n), "Laura"))
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				ids[n][in.id] = true
			}
			return err
		}
		var browsers sync.WaitGroup
		answered := make(chan error, persons)
		for n := range persons {
			ids[n] = make(map[string]bool)
			browsers.Go(func() { answered <- signIn(n, victim) })
			browsers.Go(func() {
				if err := signIn(n, 1-victim); err != nil {
					s.t.Errorf("sign-in through the node that lives: %v", err)
				}
			})
		}
		if err := <-answered; err != nil {
			s.t.Errorf("sign-in before the kill: %v", err)
		}
		s.nodes[victim].kill()
		browsers.Wait()
		startNode(s, victim)
		for n := range persons {
			for node := range s.nodes {
				if err := signIn(n, node); err != nil {
					s.t.Errorf("sign-in after the kill: %v", err)
				}
			}
			if people := peopleOf(s, subject(n)); len(ids[n]) != 1 || len(people) != 1 || !ids[n][people[0].ID] {
				s.t.Errorf("%s is %v, listed are %+v", subject(n), ids[n], people)
			}
		}
	}
}

// verifyAll checks the read models.
func verifyAll(s *site) {
	s.t.Helper()
	if out := runOperator(s, "projections", "verify", "--all"); strings.Count(out, ", 0 different\n") != len(projections.Names()) {
		s.t.Errorf("output of verify:\n%s", out)
	}
}

// hasKey reports whether there is a key that opens the details of a person.
func hasKey(s *site, id string) (has bool) {
	s.t.Helper()
	db, err := readmodel.Open(s.t.Context(), s.database.DSN(), 1)
	if err != nil {
		s.t.Fatal(err)
	}
	err = db.NewRaw(
		"SELECT EXISTS (SELECT FROM linkledger_keys.account_keys WHERE account_id = ? AND wrapped IS NOT NULL)", id,
	).Scan(s.t.Context(), &has)
	if err := errors.Join(err, db.Close()); err != nil {
		s.t.Fatal(err)
	}
	return has
}

// wantErased checks that nothing says who a person was that made a link and its only edit.
func (a tenant) wantErased(in signedIn, name, hash string) {
	a.t.Helper()
	sessionEnded(in, 0, 1)
	if hasKey(a.site, in.id) {
		a.t.Error("the key of the details is still there")
	}
	const erased = "erased"
	actors := actorsOf(a.site, hash, "--by", in.id)
	for _, actor := range actors {
		if actor.UserName != erased {
			a.t.Errorf("the history names %+v", actor)
		}
	}
	if out := runOperator(a.site, "person", "list", "--json"); strings.Contains(out, in.id) {
		a.t.Errorf("the erased person is listed: %s", out)
	}
	for _, member := range a.members() {
		if member.ID == in.id {
			a.t.Errorf("the erased person is the member %+v", member)
		}
	}
	if named := actorsOf(a.site, hash, "--by", name); len(actors) < 3 || len(named) > 0 {
		a.t.Errorf("the history has %d events of the person, %d of them by name", len(actors), len(named))
	}
	for _, args := range [][]string{
		{"audit", "history", hash},
		{"audit", "history", hash, "--format", "csv"},
		{"person", "list"},
		{"account", "member", "list", "--username", a.username},
	} {
		if out := runOperator(a.site, args...); strings.Contains(out, name) {
			a.t.Errorf("output of %v:\n%s", args, out)
		}
	}
	for node := range a.nodes {
		of := a.must(node, "GET", "/urls/"+hash+"/history", "")["history"].(map[string]any)["events"].([]any)
		calls := a.must(node, "GET", "/activity?user="+in.id, "")["activity"].([]any)
		if len(of) < len(actors) || len(calls) < 2 {
			a.t.Errorf("node %d: %d events and %d calls", node, len(of), len(calls))
		}
		for _, call := range calls {
			if call.(map[string]any)["user_name"] != erased {
				a.t.Errorf("node %d: the activity has %v", node, call)
			}
		}
		for _, event := range of {
			actor := event.(map[string]any)["actor"].(map[string]any)
			if actor["user"] == in.id && actor["user_name"] != erased {
				a.t.Errorf("node %d: the history has %v", node, actor)
			}
		}
	}
}

// erasePeople erases a person, and builds again what named them.
func erasePeople(s *site) {
	labs := openTenant(s, "labs")
	ida := person("ida", "Ida Rhodes")
	in := labs.member(ida, "owner")
	in.must(0, "POST", "/urls", createLink("idas"))
	in.must(1, "PATCH", "/urls/idas", `{"urls":[{"note":"mine"}]}`)
	for node := range s.nodes { // which caches the key of her details
		call := labs.must(node, "GET", "/activity?user="+in.id, "")["activity"].([]any)[0].(map[string]any)
		history := fmt.Sprint(labs.must(node, "GET", "/urls/idas/history", ""))
		if call["user_name"] != ida.Name || !strings.Contains(history, ida.Name) {
			s.t.Errorf("before the erasure: %v\n%s", call, history)
		}
	}
	if !hasKey(s, in.id) {
		s.t.Error("the details have no key")
	}
	runOperator(s, "person", "erase", in.id)
	labs.wantErased(in, ida.Name, "idas")
	runOperator(s, "person", "erase", in.id) // completes an interrupted erasure
	anew := s.signIn(person("ida", "Ida again"))
	if people := peopleOf(s, "ida"); anew.id == in.id || len(people) != 1 || people[0].ID != anew.id {
		s.t.Errorf("after the erasure she is %s, before %s; listed are %+v", anew.id, in.id, people)
	}
	verifyAll(s)
	runOperator(s, "projections", "rebuild", "accounts")
	runOperator(s, "projections", "rebuild", "activity")
	verifyAll(s)
	labs.wantErased(in, ida.Name, "idas")
	if anew.must(0, "GET", "/session", "")["session"].(map[string]any)["user_name"] != "Ida again" {
		s.t.Error("the rebuild has erased who signed in again")
	}
}

// eraseAccount erases an account with two members, one of whom is a member of another account too.
func eraseAccount(s *site) {
	guild, union := openTenant(s, "guild"), openTenant(s, "union")
	mona, nils := person("mona", "Mona"), person("nils", "Nils Nilsson")
	only := guild.member(mona, "owner")
	both := guild.member(nils, "editor")
	member := union.member(nils, "viewer")
	runOperator(s, "account", "erase", "guild")
	sessionEnded(only, 0, 1)
	sessionEnded(both, 0, 1)
	if out := runOperator(s, "person", "list", "--json"); strings.Contains(out, only.id) || strings.Contains(out, "Mona") {
		s.t.Errorf("the member of the account alone is listed: %s", out)
	}
	if people := peopleOf(s, "nils"); len(people) != 1 || people[0].ID != both.id || people[0].Name != "Nils Nilsson" {
		s.t.Errorf("the member of another account is listed as %+v", people)
	}
	for node := range s.nodes {
		member.must(node, "GET", "/urls", "")
	}
	if members := union.members(); len(members) != 1 || members[0].Name != "Nils Nilsson" {
		s.t.Errorf("the members of the other account are %+v", members)
	}
	runOperator(s, "account", "erase", "guild")
	// Whatever the answer is, the read models must be able to follow.
	_, _, _ = s.operate("account", "member", "remove", "--username", "guild", only.id, siteMaster)
	if again := s.signIn(mona); again.id == only.id || again.session["account"] != nil {
		s.t.Errorf("the erased member is %s again, with the session %v", again.id, again.session)
	}
	verifyAll(s)
}

// auditPeople verifies and exports the log of the scenarios before, and looks for details of people
// in it and in what the services have logged.
func auditPeople(s *site) {
	in := s.signIn(person("grace", "Grace Hopper"))
	runOperator(s, "audit", "verify")
	file := filepath.Join(s.t.TempDir(), "log.ndjson")
	runOperator(s, "audit", "export", "--output", file)
	must(s.t, "audit", "import-check", file)
	log, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.Contains(string(log), in.id) {
		s.t.Error("the export does not have the person")
	}
	texts := map[string]string{"the log": string(log)}
	for n, node := range s.nodes {
		node.kill()
		texts[fmt.Sprint("the output of node ", n)] = node.output.String()
	}
	for of, text := range texts {
		for _, private := range []string{
			"Grace Hopper", "Ida Rhodes", "Ida again", "Nils Nilsson", "@example.com", s.issuer.URL, clientSecret, in.cookie.Value,
		} {
			if strings.Contains(text, private) {
				s.t.Errorf("%s has %q", of, private)
			}
		}
	}
}

// TestSignInConfiguration checks that wrong flags are named and that no command prints the secret.
func TestSignInConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(clientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := []string{
		"serve", "--eventstore=esdb://127.0.0.1:1?tls=false", "--database=postgres://127.0.0.1:1/none", siteMaster,
		"--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--log-level=error",
	}
	for name, test := range map[string]struct {
		flags []string
		want  string
	}{
		"HTTP issuer": {
			[]string{"--oidc-issuer=http://id.example.com", "--oidc-client-id=x"}, "--oidc-issuer (LINKLEDGER_OIDC_ISSUER)",
		},
		"no URL": {
			[]string{"--oidc-issuer=id.example.com", "--oidc-client-id=x"}, "--oidc-issuer (LINKLEDGER_OIDC_ISSUER)",
		},
		"no client id": {
			[]string{"--oidc-issuer=https://id.example.com"}, "--oidc-client-id (LINKLEDGER_OIDC_CLIENT_ID)",
		},
		"unknown role": {[]string{"--oidc-groups=staff=acme:king"}, "--oidc-groups"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := runWith(
				t, map[string]string{"LINKLEDGER_OIDC_CLIENT_SECRET": clientSecret}, append(serve, test.flags...)...,
			)
			wantOneLine(t, []byte(out), err, test.want)
			if strings.Contains(out, clientSecret) {
				t.Errorf("the secret is printed: %s", out)
			}
		})
	}
	for name, test := range map[string]struct {
		environment map[string]string
		flags       []string
	}{
		"secret in the environment": {map[string]string{"LINKLEDGER_OIDC_CLIENT_SECRET": clientSecret}, nil},
		"secret in a file":          {map[string]string{"LINKLEDGER_OIDC_CLIENT_SECRET_FILE": file}, nil},
		"secret as a flag":          {nil, []string{"--oidc-client-secret", clientSecret}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := append([]string{"config"}, append(serve, "--oidc-issuer=https://id.example.com", "--oidc-client-id=x")...)
			out, err := runWith(t, test.environment, append(flags, test.flags...)...)
			if err != nil || !strings.Contains(out, "https://id.example.com") || strings.Contains(out, clientSecret) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
