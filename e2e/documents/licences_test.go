package documents_test

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"linkledger/e2e/e2etest"
)

// allowedLicences are the licences of code that may be linked into a program under Apache-2.0. Each
// has words that no other licence has.
var allowedLicences = []struct{ name, words string }{
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"BSD", "Redistribution and use in source and binary forms, with or without modification, are permitted"},
	{
		"ISC",
		"Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is " +
			"hereby granted",
	},
	{"CC0-1.0", "CC0 1.0 Universal"},
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)`)

// TestLicences checks that each module in the program has an allowed licence.
func TestLicences(t *testing.T) {
	t.Parallel()
	built, err := buildinfo.ReadFile(e2etest.Program)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"mod", "download", "-json"}
	for _, module := range built.Deps {
		args = append(args, module.Path+"@"+module.Version)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := json.NewDecoder(bytes.NewReader(out))
	for modules.More() {
		var module struct{ Path, Version, Dir string }
		if err := modules.Decode(&module); err != nil {
			t.Fatal(err)
		}
		licence := licenceOf(t, module.Dir)
		t.Log(licence, module.Path, module.Version)
		if licence == "" {
			t.Errorf("%s has no licence that is allowed", module.Path)
		}
	}
}

// licenceOf returns the name of the allowed licence in a module's folder, or an empty string if
// there is none.
func licenceOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !licenceFile.MatchString(file.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, licence := range allowedLicences {
			if strings.Contains(strings.Join(strings.Fields(string(text)), " "), licence.words) {
				return licence.name
			}
		}
	}
	return ""
}
