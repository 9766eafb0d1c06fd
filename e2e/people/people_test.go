package people_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
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
	"linkledger/e2e/e2etest"
	"linkledger/e2e/installtest"
	"linkledger/e2e/sitetest"
	"linkledger/httpapi/openid/openidtest"
	"linkledger/httpapi/signin"
	"linkledger/internal/soak"
	"linkledger/projections"
	"linkledger/projections/readmodel"
)

const (
	siteMaster = "--master-key=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// Codes of errors of the API.
const (
	accessDenied = 1217.0
)

// startSite starts an installation whose services have the client secret in a file.
func startSite(t *testing.T) *sitetest.Site {
	t.Helper()
	s := &sitetest.Site{
		Installation: installtest.NotStarted(t), T: t, Issuer: openidtest.New(t), Asking: new(sync.Mutex), Opened: new(atomic.Uint32),
	}
	t.Cleanup(s.StopDatabase)
	s.Issuer.Register(openidtest.Client{
		ID: "linkledger", Secret: sitetest.ClientSecret, RedirectURLs: []string{sitetest.SiteURL + signin.CallbackPath},
	})
	file := filepath.Join(s.Folder, "client secret")
	if err := os.WriteFile(file, []byte(sitetest.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Environment = []string{"LINKLEDGER_OIDC_CLIENT_SECRET_FILE=" + file}
	s.StartStore()
	flags := []string{
		"--oidc-issuer", s.Issuer.URL, "--oidc-client-id", "linkledger", "--oidc-groups",
		"staff=acme:editor;ops=operator", "--base-url", sitetest.SiteURL, "--trusted-proxies=127.0.0.1/32",
		"--wait-timeout=8s",
	}
	refusesToServe(s, flags)
	flags = append(flags, siteMaster)
	admins := []string{s.Admin, "http://" + installtest.FreeAddress(t)}
	for n, base := range []string{s.Base, "http://" + installtest.FreeAddress(t)} {
		s.Nodes = append(s.Nodes, &installtest.Node{
			Base: base, Admin: admins[n], Spool: fmt.Sprint("spool ", n), Flags: flags,
		})
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", base[len("http://"):])
		}
		way := &http.Transport{DialTLSContext: dial, MaxIdleConnsPerHost: installtest.Racers}
		t.Cleanup(way.CloseIdleConnections)
		s.Ways = append(s.Ways, &http.Client{Transport: way, CheckRedirect: e2etest.NoRedirects.CheckRedirect})
	}
	startNode(s, 0)
	startNode(s, 1)
	return s
}

// refusesToServe checks that a service without master key ends at once and names the flag.
func refusesToServe(s *sitetest.Site, flags []string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), e2etest.StartTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, e2etest.Program, slices.Concat([]string{
		"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--spool", s.T.TempDir(), "--log-level=error",
	}, s.Backends(), flags)...).CombinedOutput()
	e2etest.WantOneLine(s.T, out, err, "give --master-key (LINKLEDGER_MASTER_KEY) with --oidc-issuer")
}

// within returns the site for a scenario.
func within(t *testing.T, s *sitetest.Site) *sitetest.Site {
	t.Helper()
	of := *s
	of.T = t
	return &of
}

func startNode(s *sitetest.Site, n int) {
	s.T.Helper()
	at := s.Nodes[n]
	at.Child = s.Serve(at.Base, at.Admin, at.Spool, at.Flags...)
}

// runOperator runs a command on the installation and returns its output. The command must succeed.
func runOperator(s *sitetest.Site, args ...string) string {
	s.T.Helper()
	out, log, code := s.Operate(append(args, siteMaster)...)
	if code != 0 {
		s.T.Fatalf("%v ended with %d: %s%s", args, code, out, log)
	}
	return out
}

// readOutput reads the JSON that a command prints.
func readOutput(s *sitetest.Site, into any, args ...string) {
	s.T.Helper()
	if out := runOperator(s, args...); json.Unmarshal([]byte(out), into) != nil {
		s.T.Fatalf("output of %v: %s", args, out)
	}
}

// tenant is an account with its first key.
type tenant struct {
	*sitetest.Site

	username, key string
}

func openTenant(s *sitetest.Site, username string) tenant {
	s.T.Helper()
	var opened e2etest.OpenedAccount
	readOutput(s, &opened, "account", "create", "--username", username, "--json")
	return tenant{s, username, opened.APIKey}
}

// must makes a call with the key of the account. The call must succeed.
func (a tenant) must(node int, method, path, body string) map[string]any {
	a.T.Helper()
	answer, err := e2etest.CallAs(a.T.Context(), a.Nodes[node].Base, a.username, a.key, method, path, body)
	if err != nil {
		a.T.Fatal(err)
	}
	return answer
}

// employ gives a person a role in the account.
func (a tenant) employ(id, role string) {
	a.T.Helper()
	a.must(0, "PUT", "/members", fmt.Sprintf(`{"id":%q,"role":%q}`, id, role))
}

// member signs in a person, who gets a role in the account.
func (a tenant) member(of openidtest.Person, role string) sitetest.SignedIn {
	a.T.Helper()
	in := a.SignIn(of)
	a.employ(in.ID, role)
	in.Must(1, "PATCH", "/session", fmt.Sprintf(`{"account":%q}`, a.username))
	return in
}

// members returns the members of the account as the command line lists them.
func (a tenant) members() (members []e2etest.ListedMember) {
	a.T.Helper()
	readOutput(a.Site, &members, "account", "member", "list", "--username", a.username, "--json")
	return members
}

// peopleOf returns the persons with a subject.
func peopleOf(s *sitetest.Site, subject string) (people []e2etest.ListedPerson) {
	s.T.Helper()
	readOutput(s, &people, "person", "list", "--json")
	return slices.DeleteFunc(people, func(p e2etest.ListedPerson) bool { return p.Subject != subject })
}

// sessionEnded checks that no node accepts the session.
func sessionEnded(in sitetest.SignedIn, nodes ...int) {
	in.T.Helper()
	for _, node := range nodes {
		in.Refused(sitetest.NoSession, node, "GET", "/session", "")
		in.Refused(sitetest.NoSession, node, "POST", "/urls", sitetest.CreateLink(""))
	}
}

// actorsOf returns who caused the events of a hash, as the command line says it.
func actorsOf(s *sitetest.Site, hash string, flags ...string) (actors []audit.Actor) {
	s.T.Helper()
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
		run  func(*sitetest.Site)
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
func haveMembers(s *sitetest.Site) {
	acme := openTenant(s, "acme")
	grace := sitetest.Person("grace", "Grace Hopper", "staff", "another")
	in := s.SignIn(grace)
	if in.Session["user_name"] != grace.Name || in.Session["account"] != "acme" || in.Session["role"] != "editor" ||
		in.Session["operator"] != false {
		s.T.Errorf("the session is %v", in.Session)
	}
	if ops := s.SignIn(sitetest.Person("olga", "Olga", "ops")); ops.Session["operator"] != true || ops.Session["account"] != nil {
		s.T.Errorf("the session of an operator is %v", ops.Session)
	}
	in.Must(0, "POST", "/urls", sitetest.CreateLink("graces"))
	in.Must(1, "PATCH", "/urls/graces", `{"urls":[{"note":"by Grace"}]}`)
	acme.must(0, "PATCH", "/urls/graces", `{"urls":[{"note":"by a key"}]}`)
	for _, by := range []string{in.ID, grace.Name} {
		actors := actorsOf(s, "graces", "--by", by)
		if len(actors) < 3 || slices.ContainsFunc(actors, func(a audit.Actor) bool {
			return a.User != in.ID || a.UserName != grace.Name || a.Via != "console" || a.Key != ""
		}) {
			s.T.Errorf("what %s did was done by %+v", by, actors)
		}
	}
	if all, hers := actorsOf(s, "graces"), actorsOf(s, "graces", "--by", in.ID); len(all) != len(hers)+1 {
		s.T.Errorf("%d of %d events are hers; want all but one", len(hers), len(all))
	}
	if table := runOperator(s, "audit", "history", "graces"); !strings.Contains(table, grace.Name+", person "+in.ID) {
		s.T.Errorf("the history does not name her:\n%s", table)
	}
	listed := e2etest.ListedPerson{ID: in.ID, Issuer: s.Issuer.URL, Subject: "grace", Name: grace.Name, Mail: grace.Mail}
	if people := peopleOf(s, "grace"); len(people) != 1 || people[0] != listed {
		s.T.Errorf("listed are %+v, want %+v", people, listed)
	}
	member := e2etest.ListedMember{ID: in.ID, Name: grace.Name, Mail: grace.Mail, Role: "editor", Group: "staff"}
	if members := acme.members(); len(members) != 1 || members[0] != member {
		s.T.Errorf("the members are %+v, want %+v", members, member)
	}

	runOperator(s, "account", "member", "set", "--username", "acme", in.ID, "viewer")
	sessionEnded(in, 0, 1)
	member.Role, member.Group = "viewer", ""
	if members := acme.members(); len(members) != 1 || members[0] != member {
		s.T.Errorf("after the change the members are %+v, want %+v", members, member)
	}
	viewer := s.SignIn(grace)
	viewer.Must(0, "GET", "/urls/graces", "")
	viewer.Refused(accessDenied, 1, "POST", "/urls", sitetest.CreateLink(""))
	runOperator(s, "account", "member", "remove", "--username", "acme", in.ID)
	sessionEnded(viewer, 0, 1)
	if members := acme.members(); len(members) > 0 {
		s.T.Errorf("after the removal there are the members %+v", members)
	}
	if table := runOperator(s, "audit", "history", "graces", "--by", grace.Name); !strings.Contains(table, "person "+in.ID) {
		s.T.Errorf("the history does not name a former member:\n%s", table)
	}
	out, log, code := s.Operate("account", "member", "remove", "--username", "acme", in.ID, siteMaster)
	if code != e2etest.ExitUsage || !strings.Contains(log, "There is no member") {
		s.T.Errorf("the second removal ended with %d: %s%s", code, out, log)
	}
}

// endSessionsInUse ends sessions while clients use them through both nodes.
func endSessionsInUse(s *sitetest.Site) {
	club := openTenant(s, "club")
	for name, end := range map[string]func(in sitetest.SignedIn){
		"member":  func(in sitetest.SignedIn) { club.must(1, "DELETE", "/members/"+in.ID, "") },
		"role":    func(in sitetest.SignedIn) { club.employ(in.ID, "auditor") },
		"session": func(in sitetest.SignedIn) { club.must(1, "DELETE", "/sessions/"+in.Session["id"].(string), "") },
	} {
		in := club.member(sitetest.Person("ivan-"+name, "Ivan"), "editor")
		body := fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%s"}]}`, name)
		carriedOut := installtest.EndInUse(s.T, func(client int) (map[string]any, error) {
			return in.Call(client%2, "POST", "/urls", body)
		}, func() { end(in) })
		sessionEnded(in, 0, 1)
		var found any
		for late := time.Now().Add(e2etest.StartTimeout); found != float64(carriedOut) && time.Now().Before(late); {
			found = club.must(0, "GET", "/urls?limit=1&search="+name, "")["page"].(map[string]any)["total_count"]
		}
		if found != float64(carriedOut) || carriedOut < installtest.Racers {
			s.T.Errorf("%s: %d calls of %d clients succeeded, but there are %v links", name, carriedOut, installtest.Racers, found)
		}
	}
}

// killAfterEnd kills the node that has just answered that sessions have ended.
func killAfterEnd(s *sitetest.Site) {
	shop := openTenant(s, "shop")
	kept := shop.member(sitetest.Person("jane", "Jane"), "editor")
	removed := shop.member(sitetest.Person("karl", "Karl"), "editor")
	left := s.SignIn(sitetest.Person("karl", "Karl"))
	left.Must(0, "DELETE", "/session", "")
	shop.must(0, "DELETE", "/members/"+removed.ID, "")
	s.Nodes[0].Kill()
	sessionEnded(left, 1)
	sessionEnded(removed, 1)
	startNode(s, 0)
	sessionEnded(left, 0, 1)
	sessionEnded(removed, 0, 1)
	kept.Must(0, "POST", "/urls", sitetest.CreateLink("janes"))
}

// killDuringSignIns kills a node while persons sign in through both, each for the first time.
func killDuringSignIns(s *sitetest.Site) {
	const persons = 6
	for round := range soak.N(1, 20) {
		victim := 1 - round%2
		var mu sync.Mutex
		ids := make([]map[string]bool, persons)
		subject := func(n int) string { return fmt.Sprintf("laura-%d-%d", round, n) }
		signIn := func(n, node int) error {
			in, err := s.Browser().SignIn(node, node, sitetest.Person(subject(n), "Laura"))
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				ids[n][in.ID] = true
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
					s.T.Errorf("sign-in through the node that lives: %v", err)
				}
			})
		}
		if err := <-answered; err != nil {
			s.T.Errorf("sign-in before the kill: %v", err)
		}
		s.Nodes[victim].Kill()
		browsers.Wait()
		startNode(s, victim)
		for n := range persons {
			for node := range s.Nodes {
				if err := signIn(n, node); err != nil {
					s.T.Errorf("sign-in after the kill: %v", err)
				}
			}
			if people := peopleOf(s, subject(n)); len(ids[n]) != 1 || len(people) != 1 || !ids[n][people[0].ID] {
				s.T.Errorf("%s is %v, listed are %+v", subject(n), ids[n], people)
			}
		}
	}
}

// verifyAll checks the read models.
func verifyAll(s *sitetest.Site) {
	s.T.Helper()
	if out := runOperator(s, "projections", "verify", "--all"); strings.Count(out, ", 0 different\n") != len(projections.Names()) {
		s.T.Errorf("output of verify:\n%s", out)
	}
}

// hasKey reports whether there is a key that opens the details of a person.
func hasKey(s *sitetest.Site, id string) (has bool) {
	s.T.Helper()
	db, err := readmodel.Open(s.T.Context(), s.Database.DSN(), 1)
	if err != nil {
		s.T.Fatal(err)
	}
	err = db.NewRaw(
		"SELECT EXISTS (SELECT FROM linkledger_durable.account_keys WHERE account_id = ? AND wrapped IS NOT NULL)", id,
	).Scan(s.T.Context(), &has)
	if err := errors.Join(err, db.Close()); err != nil {
		s.T.Fatal(err)
	}
	return has
}

// wantErased checks that nothing says who a person was that made a link and its only edit.
func (a tenant) wantErased(in sitetest.SignedIn, name, hash string) {
	a.T.Helper()
	sessionEnded(in, 0, 1)
	if hasKey(a.Site, in.ID) {
		a.T.Error("the key of the details is still there")
	}
	const erased = "erased"
	actors := actorsOf(a.Site, hash, "--by", in.ID)
	for _, actor := range actors {
		if actor.UserName != erased {
			a.T.Errorf("the history names %+v", actor)
		}
	}
	if out := runOperator(a.Site, "person", "list", "--json"); strings.Contains(out, in.ID) {
		a.T.Errorf("the erased person is listed: %s", out)
	}
	for _, member := range a.members() {
		if member.ID == in.ID {
			a.T.Errorf("the erased person is the member %+v", member)
		}
	}
	if named := actorsOf(a.Site, hash, "--by", name); len(actors) < 3 || len(named) > 0 {
		a.T.Errorf("the history has %d events of the person, %d of them by name", len(actors), len(named))
	}
	for _, args := range [][]string{
		{"audit", "history", hash},
		{"audit", "history", hash, "--format", "csv"},
		{"person", "list"},
		{"account", "member", "list", "--username", a.username},
	} {
		if out := runOperator(a.Site, args...); strings.Contains(out, name) {
			a.T.Errorf("output of %v:\n%s", args, out)
		}
	}
	for node := range a.Nodes {
		of := a.must(node, "GET", "/urls/"+hash+"/history", "")["history"].(map[string]any)["events"].([]any)
		calls := a.must(node, "GET", "/activity?user="+in.ID, "")["activity"].([]any)
		if len(of) < len(actors) || len(calls) < 2 {
			a.T.Errorf("node %d: %d events and %d calls", node, len(of), len(calls))
		}
		for _, call := range calls {
			if call.(map[string]any)["user_name"] != erased {
				a.T.Errorf("node %d: the activity has %v", node, call)
			}
		}
		for _, event := range of {
			actor := event.(map[string]any)["actor"].(map[string]any)
			if actor["user"] == in.ID && actor["user_name"] != erased {
				a.T.Errorf("node %d: the history has %v", node, actor)
			}
		}
	}
}

// erasePeople erases a person, and builds again what named them.
func erasePeople(s *sitetest.Site) {
	labs := openTenant(s, "labs")
	ida := sitetest.Person("ida", "Ida Rhodes")
	in := labs.member(ida, "owner")
	in.Must(0, "POST", "/urls", sitetest.CreateLink("idas"))
	in.Must(1, "PATCH", "/urls/idas", `{"urls":[{"note":"mine"}]}`)
	for node := range s.Nodes { // which caches the key of her details
		call := labs.must(node, "GET", "/activity?user="+in.ID, "")["activity"].([]any)[0].(map[string]any)
		history := fmt.Sprint(labs.must(node, "GET", "/urls/idas/history", ""))
		if call["user_name"] != ida.Name || !strings.Contains(history, ida.Name) {
			s.T.Errorf("before the erasure: %v\n%s", call, history)
		}
	}
	if !hasKey(s, in.ID) {
		s.T.Error("the details have no key")
	}
	runOperator(s, "person", "erase", in.ID)
	labs.wantErased(in, ida.Name, "idas")
	runOperator(s, "person", "erase", in.ID) // completes an interrupted erasure
	anew := s.SignIn(sitetest.Person("ida", "Ida again"))
	if people := peopleOf(s, "ida"); anew.ID == in.ID || len(people) != 1 || people[0].ID != anew.ID {
		s.T.Errorf("after the erasure she is %s, before %s; listed are %+v", anew.ID, in.ID, people)
	}
	verifyAll(s)
	runOperator(s, "projections", "rebuild", "accounts")
	runOperator(s, "projections", "rebuild", "activity")
	verifyAll(s)
	labs.wantErased(in, ida.Name, "idas")
	if anew.Must(0, "GET", "/session", "")["session"].(map[string]any)["user_name"] != "Ida again" {
		s.T.Error("the rebuild has erased who signed in again")
	}
}

// eraseAccount erases an account with two members, one of whom is a member of another account too.
func eraseAccount(s *sitetest.Site) {
	guild, union := openTenant(s, "guild"), openTenant(s, "union")
	mona, nils := sitetest.Person("mona", "Mona"), sitetest.Person("nils", "Nils Nilsson")
	only := guild.member(mona, "owner")
	both := guild.member(nils, "editor")
	member := union.member(nils, "viewer")
	runOperator(s, "account", "erase", "guild")
	sessionEnded(only, 0, 1)
	sessionEnded(both, 0, 1)
	if out := runOperator(s, "person", "list", "--json"); strings.Contains(out, only.ID) || strings.Contains(out, "Mona") {
		s.T.Errorf("the member of the account alone is listed: %s", out)
	}
	if people := peopleOf(s, "nils"); len(people) != 1 || people[0].ID != both.ID || people[0].Name != "Nils Nilsson" {
		s.T.Errorf("the member of another account is listed as %+v", people)
	}
	for node := range s.Nodes {
		member.Must(node, "GET", "/urls", "")
	}
	if members := union.members(); len(members) != 1 || members[0].Name != "Nils Nilsson" {
		s.T.Errorf("the members of the other account are %+v", members)
	}
	runOperator(s, "account", "erase", "guild")
	// The read models must be able to follow after any answer.
	_, _, _ = s.Operate("account", "member", "remove", "--username", "guild", only.ID, siteMaster)
	if again := s.SignIn(mona); again.ID == only.ID || again.Session["account"] != nil {
		s.T.Errorf("the erased member is %s again, with the session %v", again.ID, again.Session)
	}
	verifyAll(s)
}

// auditPeople verifies and exports the log of the scenarios before, and looks for details of people
// in it and in what the services have logged.
func auditPeople(s *sitetest.Site) {
	in := s.SignIn(sitetest.Person("grace", "Grace Hopper"))
	runOperator(s, "audit", "verify")
	file := filepath.Join(s.T.TempDir(), "log.ndjson")
	runOperator(s, "audit", "export", "--output", file)
	e2etest.Must(s.T, "audit", "import-check", file)
	log, err := os.ReadFile(file)
	if err != nil {
		s.T.Fatal(err)
	}
	if !strings.Contains(string(log), in.ID) {
		s.T.Error("the export does not have the person")
	}
	texts := map[string]string{"the log": string(log)}
	for n, node := range s.Nodes {
		node.Kill()
		texts[fmt.Sprint("the output of node ", n)] = node.Output.String()
	}
	for of, text := range texts {
		for _, private := range []string{
			"Grace Hopper", "Ida Rhodes", "Ida again", "Nils Nilsson", "@example.com", s.Issuer.URL, sitetest.ClientSecret, in.Cookie.Value,
		} {
			if strings.Contains(text, private) {
				s.T.Errorf("%s has %q", of, private)
			}
		}
	}
}

// TestSignInConfiguration checks that wrong flags are named and that no command prints the secret.
func TestSignInConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(sitetest.ClientSecret), 0o600); err != nil {
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
			out, err := e2etest.RunWith(
				t, map[string]string{"LINKLEDGER_OIDC_CLIENT_SECRET": sitetest.ClientSecret}, append(serve, test.flags...)...,
			)
			e2etest.WantOneLine(t, []byte(out), err, test.want)
			if strings.Contains(out, sitetest.ClientSecret) {
				t.Errorf("the secret is printed: %s", out)
			}
		})
	}
	for name, test := range map[string]struct {
		environment map[string]string
		flags       []string
	}{
		"secret in the environment": {map[string]string{"LINKLEDGER_OIDC_CLIENT_SECRET": sitetest.ClientSecret}, nil},
		"secret in a file":          {map[string]string{"LINKLEDGER_OIDC_CLIENT_SECRET_FILE": file}, nil},
		"secret as a flag":          {nil, []string{"--oidc-client-secret", sitetest.ClientSecret}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := append([]string{"config"}, append(serve, "--oidc-issuer=https://id.example.com", "--oidc-client-id=x")...)
			out, err := e2etest.RunWith(t, test.environment, append(flags, test.flags...)...)
			if err != nil || !strings.Contains(out, "https://id.example.com") || strings.Contains(out, sitetest.ClientSecret) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
