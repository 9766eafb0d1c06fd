// Disks that fail under load: with input/output errors, read-only, and with syncs that fail.

package outages_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linkledger/e2e/e2etest"
	"linkledger/e2e/faultydisk"
	"linkledger/e2e/installtest"
	"linkledger/internal/pgserver"
	"linkledger/internal/soak"
)

// TestFaultyDisks lets each disk of an installation with two nodes fail under load, in each way. Visitors do not notice,
// calls that cannot be carried out are refused, nothing that was answered is missing, and all goes on by itself when the
// disk works again. It runs in make disks, and needs root and FUSE.
func TestFaultyDisks(t *testing.T) {
	t.Parallel()
	faults := []faultydisk.Fault{faultydisk.InputOutput, faultydisk.ReadOnly, faultydisk.Syncs}
	disks := []string{"events", "spool", "postgres"}
	for _, disk := range disks[:soak.N(0, len(disks))] {
		for _, fault := range faults {
			t.Run(disk+"/"+fault.String(), func(t *testing.T) {
				t.Parallel()
				letDiskFail(t, disk, fault)
			})
		}
	}
}

// faultyInstallation starts all parts and a second node. The disk with the name can fail. It returns nil where this
// machine allows no such disk.
func faultyInstallation(t *testing.T, name string) (i *installtest.Installation, disk *faultydisk.Disk, second [2]string) {
	t.Helper()
	i = &installtest.Installation{
		T: t, Folder: t.TempDir(), Program: e2etest.Program, StoreAddress: installtest.FreeAddress(t),
		Base: "http://" + installtest.FreeAddress(t), Admin: "http://" + installtest.FreeAddress(t),
	}
	if disk = faultydisk.Mount(t, filepath.Join(i.Folder, name)); disk == nil {
		return i, nil, second
	}
	i.StartStore()
	data := filepath.Join(i.Folder, "postgres")
	e2etest.CopyCluster(t, data)
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.StartTimeout)
	defer cancel()
	var err error
	i.Database, err = pgserver.Start(ctx, pgserver.Config{
		Dir: data, BinDir: os.Getenv("LINKLEDGER_POSTGRES_BIN"), Restart: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.StopDatabase)
	i.StartService()
	i.OpenAccount()
	second = [2]string{"http://" + installtest.FreeAddress(t), "http://" + installtest.FreeAddress(t)}
	i.Serve(second[0], second[1], "second-spool")
	return i, disk, second
}

// letDiskFail lets a disk fail under load until it was told and calls went on, and checks what is left.
func letDiskFail(t *testing.T, name string, fault faultydisk.Fault) {
	t.Helper()
	i, disk, second := faultyInstallation(t, name)
	if disk == nil {
		return
	}
	nodes := []string{i.Admin, second[1]}
	for _, node := range nodes {
		e2etest.AwaitReady(t, node, http.StatusOK, `"projection links":"ok"`)
	}
	const links = 5
	for n := range links {
		i.Call("POST", "/urls", fmt.Sprintf(`{"urls":[{"long_url":"https://example.com/%d","custom_hash":"link%[1]d"}]}`, n))
	}
	crowd, m := i.Visit(links), makeLinks(t, i.Key, i.Base, second[0])
	i.AwaitRedirects(crowd)
	i.Eventually("links are made", func() bool { return m.count() > 20 })

	disk.Set(fault)
	failed := time.Now()
	i.Eventually("a node says that a disk fails", func() bool { return !well(t, nodes) })
	t.Logf("told after %s", time.Since(failed).Round(10*time.Millisecond))
	i.AwaitRedirects(crowd)
	i.AwaitRedirects(crowd)
	disk.Set(faultydisk.None)
	mended := time.Now()
	i.Eventually("all nodes are well", func() bool { return well(t, nodes) })
	t.Logf("well %s after the disk works", time.Since(mended).Round(10*time.Millisecond))
	before := m.count()
	i.Eventually("links are made again", func() bool { return m.count() > before+20 })
	m.stop()
	m.running.Wait()
	crowd.Stop()
	crowd.Visitors.Wait()
	t.Logf("%d links made, refused, the slowest in %s: %v; %d visits", len(m.made), m.longest.Round(time.Millisecond),
		m.refused, crowd.Answered.Load())
	if m.cutShort > 0 || crowd.Refused.Load() > 0 || crowd.CutOff.Load() > 0 {
		t.Errorf("%d calls without an answer, %d visitors refused, %d cut off", m.cutShort, crowd.Refused.Load(),
			crowd.CutOff.Load())
	}
	holdsAll(i, m.made, crowd.Answered.Load(), links)
}

// TestFaultyDiskOfDev lets the one disk of dev fail under load, in each way. It runs in make disks.
func TestFaultyDiskOfDev(t *testing.T) {
	t.Parallel()
	faults := []faultydisk.Fault{faultydisk.InputOutput, faultydisk.ReadOnly, faultydisk.Syncs}
	for _, fault := range faults[:soak.N(0, len(faults))] {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			disk := faultydisk.Mount(t, filepath.Join(t.TempDir(), "disk"))
			if disk == nil {
				return
			}
			folder := filepath.Join(disk.Folder, "data")
			d := e2etest.StartDev(t, folder)
			t.Cleanup(func() { disk.Set(faultydisk.None) }) // before the data is removed
			i := &installtest.Installation{T: t, Base: d.Base, Admin: d.Admin, Key: d.Key, Folder: folder}
			i.Call("POST", "/urls", `{"urls":[{"long_url":"https://example.com/","custom_hash":"link0"}]}`)
			m := makeLinks(t, d.Key, d.Base)
			i.Eventually("links are made", func() bool { return m.count() > 20 })
			if redirected, err := e2etest.Visit(t.Context(), d.Base, "link0", "visitor"); err != nil || !redirected {
				t.Fatalf("redirected: %t, %v", redirected, err)
			}

			disk.Set(fault)
			failed := time.Now()
			i.Eventually("dev says that its disk fails", func() bool { return !well(t, []string{d.Admin}) })
			t.Logf("told after %s", time.Since(failed).Round(10*time.Millisecond))
			redirected := 0
			i.Eventually("visitors are redirected", func() bool {
				if ok, err := e2etest.Visit(t.Context(), d.Base, "link0", "visitor"); err != nil || !ok {
					t.Fatalf("a visitor was refused: %v", err)
				}
				redirected++
				return redirected > 20
			})
			disk.Set(faultydisk.None)
			mended := time.Now()
			before := m.count()
			i.Eventually("links are made again", func() bool { return m.count() > before+20 })
			t.Logf("links are made again %s after the disk works", time.Since(mended).Round(10*time.Millisecond))
			m.stop()
			m.running.Wait()
			t.Logf("%d links made, refused, the slowest in %s: %v", len(m.made), m.longest.Round(time.Millisecond), m.refused)
			if m.cutShort > 0 {
				t.Errorf("%d calls were cut short", m.cutShort)
			}
			for _, hash := range m.made {
				i.Eventually("the link "+hash+" is redirected", func() bool {
					redirected, err := e2etest.Visit(t.Context(), d.Base, hash, "visitor")
					return err == nil && redirected
				})
			}
			e2etest.Operator(t, folder, "projections", "verify", "--all")
		})
	}
}

// well reports whether all nodes are ready, and say that nothing is degraded.
func well(t *testing.T, nodes []string) bool {
	t.Helper()
	for _, node := range nodes {
		code, said := e2etest.Scrape(t, node+"/health/ready")
		if code != http.StatusOK || strings.Contains(said, "degraded") {
			return false
		}
	}
	return true
}

// holdsAll checks that all links redirect, that the visits of the first ones are counted, and that the tables agree
// with the log.
func holdsAll(i *installtest.Installation, made []string, visits int64, links int) {
	i.T.Helper()
	i.Eventually("all visits are counted", func() bool {
		var total int64
		for n := range links {
			answer, err := e2etest.Call(i.T.Context(), i.Base, i.Key, "GET", fmt.Sprintf("/stats/link%d", n), "")
			if err != nil {
				return false
			}
			total += int64(answer["stats"].([]any)[0].(map[string]any)["total_clicks"].(float64))
		}
		return total == visits
	})
	for _, hash := range made {
		i.Eventually("the link "+hash+" is redirected", func() bool {
			redirected, err := e2etest.Visit(i.T.Context(), i.Base, hash, "visitor")
			return err == nil && redirected
		})
	}
	verify := append([]string{"projections", "verify", "--all"}, i.Backends()...)
	if out, err := exec.CommandContext(i.T.Context(), e2etest.Program, verify...).CombinedOutput(); err != nil {
		i.T.Errorf("verify: %v\n%s", err, out)
	}
}
