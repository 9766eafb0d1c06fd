package images_test

import (
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// ours is the image that runs linkledger.
const ours = "linkledger:local"

// eachCompose runs a test for each Compose file, with no variable set in the environment.
func eachCompose(t *testing.T, test func(t *testing.T, project *types.Project)) {
	t.Helper()
	for _, file := range composeFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			test(t, loadCompose(t, file))
		})
	}
}

func composeFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dockerFolder, "compose*.yaml"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the Compose files are %v, %v", files, err)
	}
	return files
}

func loadCompose(t *testing.T, file string) *types.Project {
	t.Helper()
	folder, err := filepath.Abs(dockerFolder)
	if err != nil {
		t.Fatal(err)
	}
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: folder, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(folder, filepath.Base(file))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// programs returns the services that run the program with a command.
func programs(project *types.Project, command string) types.Services {
	found := make(types.Services)
	for name, s := range project.Services {
		runs := "serve"
		if len(s.Command) > 0 {
			runs = s.Command[0]
		}
		if s.Image == ours && runs == command {
			found[name] = s
		}
	}
	return found
}

// stores returns the services that run an event store or a database.
func stores(project *types.Project) types.Services {
	found := programs(project, "eventstore")
	for name, s := range project.Services {
		if strings.Contains(s.Image, "eventstoredb") || strings.HasPrefix(s.Image, "postgres:") {
			found[name] = s
		}
	}
	return found
}

// drawSecrets generates the secrets in a new folder with secrets.sh, as an operator does.
func drawSecrets(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "secrets")
	if out, err := exec.CommandContext(
		t.Context(), "sh", filepath.Join(dockerFolder, "secrets.sh"), folder,
	).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return folder
}

func readSecret(t *testing.T, folder, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}

var secretName = regexp.MustCompile(`(?i)PASSWORD|SECRET|TOKEN|MASTER_KEY|EVENTSTORE$|DATABASE$`)

// TestComposeSecrets checks that secrets are files, that only the services that use them mount
// them, and that they are not in the environment, in git or in the image.
func TestComposeSecrets(t *testing.T) {
	t.Parallel()
	drawn := drawSecrets(t)
	if info, err := os.Stat(drawn); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the secrets: %v, %v", info.Mode(), err)
	}
	for file, line := range map[string]string{
		"../../.gitignore": "/docker/secrets/", dockerFolder + "/Dockerfile.dockerignore": "docker/secrets",
	} {
		if content, err := os.ReadFile(file); err != nil ||
			!slices.Contains(strings.Split(string(content), "\n"), line) {
			t.Errorf("%s does not have %s: %v", file, line, err)
		}
	}
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		used := make(map[string]bool)
		for name, s := range project.Services {
			for _, secret := range s.Secrets {
				used[secret.Source] = true
				file := project.Secrets[secret.Source].File
				if file != filepath.Join(project.WorkingDir, "secrets", secret.Source) {
					t.Errorf("the secret %s is %q", secret.Source, file)
				}
				if _, err := os.Stat(filepath.Join(drawn, secret.Source)); err != nil {
					t.Errorf("secrets.sh does not generate a secret that %s mounts: %v", name, err)
				}
			}
			for variable, value := range s.Environment {
				mounted, isFile := strings.CutPrefix(*value, "/run/secrets/")
				has := slices.ContainsFunc(
					s.Secrets, func(c types.ServiceSecretConfig) bool { return c.Source == mounted },
				)
				switch {
				case isFile && !has:
					t.Errorf("%s does not mount the secret of %s", name, variable)
				case !isFile && secretName.MatchString(variable), strings.Contains(*value, "@"):
					t.Errorf("%s has a secret in %s", name, variable)
				}
			}
		}
		for name := range project.Secrets {
			if !used[name] {
				t.Errorf("the secret %s is not used", name)
			}
		}
	})
	for _, file := range composeFiles(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`(?i)://[^/\s]*:[^/\s]*@|\$\{\w*(PASSWORD|SECRET|KEY)\w*`).Find(
			content,
		); found != nil {
			t.Errorf("%s has the secret %s", file, found)
		}
	}
}

// TestComposeMasterKey checks that each service has a master key, so that notes are sealed and can
// be erased.
func TestComposeMasterKey(t *testing.T) {
	t.Parallel()
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		for name, s := range programs(project, "serve") {
			if file := s.Environment["LINKLEDGER_MASTER_KEY_FILE"]; file == nil || *file == "" {
				t.Errorf("%s has no master key", name)
			}
		}
	})
}

// TestComposeConnections checks that passwords are sent over TLS only, and that the services
// connect as users who are not administrators.
func TestComposeConnections(t *testing.T) {
	t.Parallel()
	drawn := drawSecrets(t)
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		for name, s := range programs(project, "serve") {
			secret := func(variable string) string {
				return readSecret(t, drawn, filepath.Base(*s.Environment[variable]))
			}
			store, database := secret("LINKLEDGER_EVENTSTORE_FILE"), secret("LINKLEDGER_DATABASE_FILE")
			if !strings.HasPrefix(store, "esdb://linkledger:") || !strings.Contains(store, "?tls=true&tlsCaFile=/") {
				t.Errorf("%s connects to the event store with %s", name, store)
			}
			_, authority, _ := strings.Cut(store, "tlsCaFile=")
			mounted := slices.ContainsFunc(
				s.Volumes, func(v types.ServiceVolumeConfig) bool { return strings.HasPrefix(authority, v.Target+"/") },
			) ||
				slices.ContainsFunc(
					s.Secrets, func(c types.ServiceSecretConfig) bool { return authority == "/run/secrets/"+c.Source },
				)
			if !mounted {
				t.Errorf("%s does not mount %s", name, authority)
			}
			if !strings.HasPrefix(database, "postgres://linkledger:") {
				t.Errorf("%s connects to PostgreSQL with %s", name, database)
			}
		}
		for name, s := range stores(project) {
			if insecure := s.Environment["EVENTSTORE_INSECURE"]; insecure != nil ||
				strings.Contains(strings.Join(s.Command, " "), "--insecure") {
				t.Errorf("%s has no TLS", name)
			}
			if user := s.Environment["POSTGRES_USER"]; user != nil {
				t.Errorf("the superuser of %s is %s", name, *user)
			}
		}
	})
}

// TestComposeNetworks checks that each store is in one internal network with only its clients,
// without dashboards and proxies.
func TestComposeNetworks(t *testing.T) {
	t.Parallel()
	clients := regexp.MustCompile(`^linkledger\d?$|^eventstore|^postgres$|^standby$`)
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		if len(stores(project)) < 2 {
			t.Error("fewer than two stores")
		}
		for name, s := range stores(project) {
			if len(s.Networks) != 1 || len(s.Ports) > 0 || s.NetworkMode != "" {
				t.Errorf("%s is in %v and has the ports %v", name, slices.Collect(maps.Keys(s.Networks)), s.Ports)
			}
			for network := range s.Networks {
				if !project.Networks[network].Internal {
					t.Errorf("the network %s of %s is not internal", network, name)
				}
				for other, o := range project.Services {
					if _, within := o.Networks[network]; within && !clients.MatchString(other) {
						t.Errorf("%s reaches %s", other, name)
					}
				}
			}
		}
		for name, s := range project.Services {
			if _, within := s.Networks["default"]; within {
				t.Errorf("%s is in the default network", name)
			}
		}
	})
}

// TestComposePorts checks that only the proxy is reachable from other machines, and only over TLS. All
// other ports are bound to the loopback address, where a proxy on the host can reach them.
func TestComposePorts(t *testing.T) {
	t.Parallel()
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		for name, s := range project.Services {
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" && (name != "proxy" || port.Target != 8443) {
					t.Errorf("%s is reachable from other machines at %s", name, port.Published)
				}
			}
		}
	})
	for file, listen := range map[string]string{
		"nginx/linkledger.conf": "(?m)^\\s*listen 8443 ssl;$", "haproxy/haproxy.cfg": "(?m)^\\s*bind :8443 ssl ",
		"caddy/Caddyfile": "(?m)^https://:8443 {$",
	} {
		content, err := os.ReadFile(filepath.Join(dockerFolder, file))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(listen).Match(content) ||
			len(regexp.MustCompile(`(?m)^\s*(listen|bind) |^\S*:\d+ {`).FindAll(content, -1)) != 1 {
			t.Errorf("%s listens elsewhere than at 8443 with TLS", file)
		}
	}
}

// enginePools hold the networks without addresses of their own:
// https://docs.docker.com/engine/network/#subnet-allocation
var enginePools = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}

// TestComposeTrustedProxies checks that only the address of the proxy in front is trusted, and that no other network
// can have it.
func TestComposeTrustedProxies(t *testing.T) {
	t.Parallel()
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		addresses := project.Networks["front"].Ipam.Config
		if len(addresses) != 1 {
			t.Fatalf("the network front has the addresses %v", addresses)
		}
		front := addresses[0]
		subnet := netip.MustParsePrefix(front.Subnet)
		for _, pool := range enginePools {
			if subnet.Overlaps(pool) {
				t.Errorf("the engine may give %s, which is in %s, to another network", subnet, pool)
			}
		}
		proxy := front.Gateway // the host
		if found, ok := project.Services["proxy"]; ok {
			proxy = found.Networks["front"].Ipv4Address
			if free := netip.MustParsePrefix(front.IPRange); free.Contains(netip.MustParseAddr(proxy)) {
				t.Errorf("another service may get the address %s", proxy)
			}
		}
		for name, s := range programs(project, "serve") {
			trusted := netip.MustParsePrefix(*s.Environment["LINKLEDGER_TRUSTED_PROXIES"])
			if !trusted.IsSingleIP() || trusted.Addr().String() != proxy || !subnet.Contains(trusted.Addr()) {
				t.Errorf("%s trusts %s, the proxy is %s in %s", name, trusted, proxy, subnet)
			}
		}
	})
}

var (
	// pinned matches an image with the version of its content or with a digest.
	pinned = regexp.MustCompile(`:v?\d+\.\d+(\.\d+)?(-[a-z0-9.-]+)?$|@sha256:[0-9a-f]{64}$`)
	from   = regexp.MustCompile(`(?m)^FROM (\S+)`)
)

// TestComposeImages checks that each image is pinned to one version.
func TestComposeImages(t *testing.T) {
	t.Parallel()
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		for name, s := range project.Services {
			if s.Image == ours && s.Build != nil {
				continue
			}
			if !pinned.MatchString(s.Image) {
				t.Errorf("%s runs %s", name, s.Image)
			}
		}
	})
	content, err := os.ReadFile(filepath.Join(dockerFolder, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range from.FindAllStringSubmatch(string(content), -1) {
		if image[1] != "scratch" && !pinned.MatchString(image[1]) {
			t.Errorf("the image is built from %s", image[1])
		}
	}
	for _, setting := range []string{"\nUSER 65532:65532\n", "\nHEALTHCHECK "} {
		if !strings.Contains(string(content), setting) {
			t.Errorf("the Dockerfile has no %q", setting)
		}
	}
}

// TestComposeRights checks that containers have no rights that they do not need.
func TestComposeRights(t *testing.T) {
	t.Parallel()
	writable := regexp.MustCompile(`^eventstore[123]$|^certificates$`) // images that may write elsewhere
	users := regexp.MustCompile(`^linkledger|^proxy$|^postgres|^standby|^eventstore$`)
	eachCompose(t, func(t *testing.T, project *types.Project) {
		t.Helper()
		for name, s := range project.Services {
			if !slices.Equal(s.CapDrop, []string{"ALL"}) ||
				!slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) || s.Privileged {
				t.Errorf("%s keeps capabilities: %v, %v", name, s.CapDrop, s.SecurityOpt)
			}
			if len(s.CapAdd) > 0 && name != "certificates" {
				t.Errorf("%s adds capabilities: %v", name, s.CapAdd)
			}
			if s.ReadOnly == writable.MatchString(name) {
				t.Errorf("%s has a writable root file system: %t", name, !s.ReadOnly)
			}
			if users.MatchString(name) && s.Image != ours && (s.User == "" || s.User == "root" ||
				strings.HasPrefix(s.User, "0")) {
				t.Errorf("%s runs as %q", name, s.User)
			}
			for _, volume := range s.Volumes {
				if volume.Type != types.VolumeTypeBind {
					continue
				}
				if _, err := os.Stat(volume.Source); err != nil || !volume.ReadOnly {
					t.Errorf("%s mounts %s, which it may write: %t; %v", name, volume.Source, !volume.ReadOnly, err)
				}
			}
		}
	})
}
