// Package binaries finds the PostgreSQL server binaries of this machine that run a cluster. It MUST
// NOT change the cluster.
package binaries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// minMajor is the oldest major version of PostgreSQL that the read models support.
	minMajor = 15
	// debianBins matches the folders of the server in Debian's packages.
	debianBins = "/usr/lib/postgresql/*/bin"
	// outputTimeout bounds the wait for the output of a process, also after its end.
	outputTimeout = 5 * time.Second
)

var (
	// ErrNotInstalled means that no suitable PostgreSQL server was found.
	ErrNotInstalled = errors.New("PostgreSQL 15 or later is not installed: run `apt-get install " +
		"postgresql`, " +
		"or set LINKLEDGER_POSTGRES_BIN to the folder of its initdb and postgres")
	// ErrOtherVersion means that a major version of PostgreSQL that is not installed created the
	// data folder.
	ErrOtherVersion = errors.New("data folder of another PostgreSQL version")
)

// Installation is one set of PostgreSQL server binaries.
type Installation struct {
	Bin   string // folder of initdb and postgres
	Major int
}

// Find returns the binaries for a cluster: the binaries of its own version if the cluster exists,
// else the newest. If bin is not empty, it considers only that folder.
func Find(ctx context.Context, bin, cluster string) (Installation, error) {
	candidates, err := installations(ctx, bin)
	if err != nil {
		return Installation{}, err
	}
	made, err := clusterMajor(cluster)
	if err != nil {
		return Installation{}, err
	}
	newest := slices.MaxFunc(
		candidates, func(a, b Installation) int { return cmp.Compare(a.Major, b.Major) },
	)
	if made == 0 {
		return newest, nil
	}
	for _, c := range candidates {
		if c.Major == made {
			return c, nil
		}
	}
	return Installation{}, &OtherVersionError{cluster: cluster, Made: made, Newest: newest}
}

// OtherVersionError is the error that no installation can run a cluster.
type OtherVersionError struct {
	cluster string
	Made    int // the version that made it
	Newest  Installation
}

// Error implements error.
func (o *OtherVersionError) Error() string {
	return fmt.Sprintf(
		"%s: %s was made by PostgreSQL %d, %s is PostgreSQL %d: install PostgreSQL %d",
		ErrOtherVersion, o.cluster, o.Made, o.Newest.Bin, o.Newest.Major, o.Made,
	)
}

// Is makes the error one of ErrOtherVersion.
func (o *OtherVersionError) Is(target error) bool { return target == ErrOtherVersion }

// installations returns at least one suitable Installation, or fails with ErrNotInstalled.
func installations(ctx context.Context, bin string) ([]Installation, error) {
	if bin != "" {
		inst, err := inspect(ctx, bin)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", ErrNotInstalled, err)
		}
		return []Installation{inst}, nil
	}
	bins, err := filepath.Glob(debianBins)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", debianBins, err)
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		real, err := filepath.EvalSymlinks(path)
		if bin := filepath.Dir(real); err == nil && !slices.Contains(bins, bin) {
			bins = append(bins, bin)
		}
	}
	var found []Installation
	for _, b := range bins {
		// An unsuitable folder is skipped, because another one may be suitable.
		if inst, err := inspect(ctx, b); err == nil {
			found = append(found, inst)
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if len(found) == 0 {
		return nil, ErrNotInstalled
	}
	return found, nil
}

// inspect reads the version of the binaries in a folder.
func inspect(ctx context.Context, path string) (Installation, error) {
	bin, err := filepath.Abs(path)
	if err != nil {
		return Installation{}, fmt.Errorf("find folder %s: %w", path, err)
	}
	if _, err := exec.LookPath(filepath.Join(bin, "initdb")); err != nil {
		return Installation{}, fmt.Errorf("no initdb in %s: %w", bin, err)
	}
	inst := Installation{Bin: bin}
	ctx, cancel := context.WithTimeout(ctx, outputTimeout)
	defer cancel()
	out, err := inst.Command(ctx, "postgres", "--version").Output()
	if err != nil {
		return Installation{}, fmt.Errorf("ask %s/postgres for its version: %w", bin, err)
	}
	inst.Major, err = parseMajor(string(out))
	if err != nil {
		return Installation{}, err
	}
	if inst.Major < minMajor {
		return Installation{}, fmt.Errorf("%s is PostgreSQL %d", bin, inst.Major)
	}
	return inst, nil
}

// parseMajor parses "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)", and also a version such
// as "17devel" or "16beta2" in place of 15.14.
func parseMajor(version string) (int, error) {
	_, number, _ := strings.Cut(version, "(PostgreSQL) ")
	end := strings.IndexFunc(number, func(r rune) bool { return r < '0' || r > '9' })
	if end > 0 {
		number = number[:end]
	}
	major, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("unknown PostgreSQL version %q", strings.TrimSpace(version))
	}
	return major, nil
}

// Command returns the command of one of the binaries. It does not inherit the environment, so that
// PGDATA and similar variables have no effect.
func (i Installation) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	//nolint:gosec // G204: the operator chooses the folder of the binaries
	cmd := exec.CommandContext(ctx, filepath.Join(i.Bin, program), args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=" + i.Bin + ":/usr/local/bin:/usr/bin:/bin"}
	if libs := i.libraries(); len(libs) > 0 {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+strings.Join(libs, ":"))
	}
	// The server's user may not be able to enter the current folder.
	cmd.Dir = "/"
	cmd.WaitDelay = outputTimeout
	return cmd
}

// libraries returns the library folders of Debian packages that were unpacked into a folder instead
// of being installed.
func (i Installation) libraries() []string {
	root, _, unpacked := strings.Cut(i.Bin, "/usr/lib/postgresql/")
	if !unpacked || root == "" {
		return nil
	}
	var libs []string
	for _, pattern := range []string{"usr/lib/*-linux-*", "lib/*-linux-*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err == nil { // the only error is a malformed pattern: brackets in root
			libs = append(libs, found...)
		}
	}
	return libs
}

// clusterMajor returns the major version that created a cluster, or 0 if there is no cluster.
func clusterMajor(cluster string) (int, error) {
	text, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the data folder: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s/PG_VERSION is damaged: %w", cluster, err)
	}
	return major, nil
}
