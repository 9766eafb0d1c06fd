package documents_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	maxReadmeLines   = 250
	maxDocumentWidth = 120 // columns, tables aside
)

var (
	documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notInAnchor  = regexp.MustCompile("[^a-z0-9_ -]")
	codeSpan     = regexp.MustCompile("`([^`\n]+)`")
	sourcePath   = regexp.MustCompile(
		`^(cmd|commands|docker|docs|events|httpapi|internal|projections|queries)(/[\w.-]+)+$`,
	)
	qualified   = regexp.MustCompile(`^[A-Za-z]+(\.[A-Za-z]+)+$`)
	declaration = regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|type |const |var )(\w+)`)
)

// TestDocuments checks that the documents name only files, sections and functions that exist, and
// that the documents keep to their widths and lengths.
func TestDocuments(t *testing.T) {
	t.Parallel()
	root := "../.."
	declared := declaredNames(t, root)
	for _, document := range documents(t, root) {
		name, _ := filepath.Rel(root, document)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := readText(t, document)
			checkLinks(t, document, text)
			checkWidths(t, text)
			for _, span := range codeSpan.FindAllStringSubmatch(text, -1) {
				// secrets.sh creates docker/secrets.
				if path := span[1]; sourcePath.MatchString(path) && !strings.HasPrefix(path, "docker/secrets") {
					if _, err := os.Stat(filepath.Join(root, path)); err != nil {
						t.Errorf("there is no %s", path)
					}
				}
				if name != filepath.Join("docs", "architecture.md") || !qualified.MatchString(span[1]) {
					continue
				}
				parts := strings.Split(span[1], ".")
				if last := parts[len(parts)-1]; !declared[last] &&
					!slices.Contains([]string{"go", "sql", "json", "md", "url"}, last) {
					t.Errorf("there is no %s: no declaration is called %s", span[1], last)
				}
			}
		})
	}
	if lines := strings.Count(readText(t, filepath.Join(root, "README.md")), "\n"); lines > maxReadmeLines {
		t.Errorf("the README has %d lines, want %d at most", lines, maxReadmeLines)
	}
}

func documents(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docker/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, files...)
	}
	return found
}

// checkLinks checks that each link within the repository leads to an existing file and section.
func checkLinks(t *testing.T, document, text string) {
	t.Helper()
	for _, link := range documentLink.FindAllStringSubmatch(text, -1) {
		path, section, _ := strings.Cut(link[1], "#")
		if strings.Contains(path, "://") {
			continue
		}
		target := document
		if path != "" {
			target = filepath.Join(filepath.Dir(document), path)
		}
		if _, err := os.Stat(target); err != nil {
			t.Errorf("the link %s leads nowhere", link[1])
			continue
		}
		if section != "" && !slices.Contains(sections(readText(t, target)), section) {
			t.Errorf("the link %s leads to no section", link[1])
		}
	}
}

// sections returns the anchors of the headings of a document.
func sections(text string) []string {
	var anchors []string
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			plain := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
		}
	}
	return anchors
}

func checkWidths(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > maxDocumentWidth &&
			!strings.HasPrefix(line, "|") {
			t.Errorf("%d columns, want %d at most: %s", width, maxDocumentWidth, line)
		}
	}
}

// declaredNames returns the names of the functions, methods, types, constants and variables of all
// packages.
func declaredNames(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		for _, found := range declaration.FindAllStringSubmatch(readText(t, path), -1) {
			names[found[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
