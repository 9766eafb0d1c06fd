package report

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Machine describes the machine and the programs of a measurement.
type Machine struct {
	Processor string  `json:"processor"`
	Cores     int     `json:"cores"`
	MemoryGB  float64 `json:"memory_gb"`
	Kernel    string  `json:"kernel"`
	Load      string  `json:"load"` // averages of 1, 5 and 15 minutes, when the measurement began
	// median time to append and sync 4 KiB, on the disk of the data
	SyncMS     float64 `json:"sync_ms"`
	Go         string  `json:"go"`
	PostgreSQL string  `json:"postgresql"`
	Program    string  `json:"program"` // its version
}

// String describes the machine in one line, for people.
func (m Machine) String() string {
	return m.hardware() + "; " + m.software()
}

func (m Machine) hardware() string {
	return fmt.Sprintf("%s, %d cores, %.0f GB, Linux %s, load %s, a sync takes %.2f ms",
		m.Processor, m.Cores, m.MemoryGB, m.Kernel, m.Load, m.SyncMS)
}

func (m Machine) software() string {
	return fmt.Sprintf("linkledger %s, %s, PostgreSQL %s", m.Program, m.Go, m.PostgreSQL)
}

// Describe describes this machine. It reads /proc, and measures the disk that folder lies on.
// Fields that /proc does not have stay empty.
func Describe(folder string) (Machine, error) {
	m := Machine{
		Cores: runtime.NumCPU(), Go: runtime.Version(),
		Processor: procField("cpuinfo", "model name"),
	}
	kibibytes, _ := strconv.ParseFloat(
		strings.TrimSuffix(procField("meminfo", "MemTotal"), " kB"), 64,
	)
	m.MemoryGB = kibibytes * 1024 / 1e9
	m.Kernel = procLine("sys/kernel/osrelease")
	if averages := strings.Fields(procLine("loadavg")); len(averages) > 3 {
		m.Load = strings.Join(averages[:3], " ")
	}
	var err error
	m.SyncMS, err = syncTime(folder)
	return m, err
}

func procLine(name string) string {
	content, _ := os.ReadFile(filepath.Join("/proc", name)) // the field stays empty
	return strings.TrimSpace(string(content))
}

// procField returns the text that follows a name and a colon in a file of /proc.
func procField(file, name string) string {
	for line := range strings.Lines(procLine(file)) {
		if field, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(field) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func syncTime(folder string) (median float64, err error) {
	file, err := os.CreateTemp(folder, "sync-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // its folder is removed
	took := make([]time.Duration, 101)
	block := make([]byte, 4096)
	for i := range took {
		start := time.Now()
		if _, err := file.Write(block); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return float64(took[len(took)/2]) / float64(time.Millisecond), nil
}
