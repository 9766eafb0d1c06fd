package dev

import "text/template"

// greeting is the text that dev prints when everything is ready. A test runs its curl lines
// unchanged. Secrets for signing in are printed to a terminal only: other output may be kept, such
// as in a journal, and be read by others.
var greeting = template.Must(template.New("greeting").Parse(`
Linkledger is ready.

  API            {{.Base}}/v3
  console        {{.Base}}/console
  operators      {{.Admin}}/console
  short links    {{.Base}}/<hash>
  health         {{.Admin}}/health/ready
  metrics        {{.Admin}}/metrics
  event store    {{.Store}}
  data           {{.Data}}
{{with .SignIn}}
Open the console, signed in (works once, within an hour):

  {{$.Base}}{{.}}

Another link: ./linkledger console link --username {{$.User}}{{$.Of}}
{{end}}{{if not .Terminal}}
  user name      {{.User}}
  API key        ./linkledger account rotate-key --username {{.User}}{{.Of}}
  signing in     ./linkledger console link --username {{.User}}{{.Of}}
                 (these commands print what dev prints to a terminal only)
{{else if .Key}}
  user name      {{.User}}
  API key        {{.Key}}
                 (shown once; ./linkledger account rotate-key --username {{.User}}{{.Of}} ` +
	`makes a new one)

Try it, in another terminal:

  # two links in one batch, one with a hash and tags of your choice
  curl -u {{.User}}:{{.Key}} {{.Base}}/v3/urls -H 'Content-Type: application/json' \
    -d '{"urls":[{"long_url":"https://go.dev/doc/"},` +
	`{"long_url":"https://www.postgresql.org/docs/","custom_hash":"pg",` +
	`"tags":["docs","sql"]}]}'

  # follow one, with the name of a browser: clicks of curl itself do not count
  curl -i -A Lynx/2.9 {{.Base}}/pg

  # list them, read the clicks
  curl -u {{.User}}:{{.Key}} {{.Base}}/v3/urls
  curl -u {{.User}}:{{.Key}} {{.Base}}/v3/stats/pg

  # edit it, delete it
  curl -u {{.User}}:{{.Key}} -X PATCH {{.Base}}/v3/urls/pg -H 'Content-Type: application/json' \
    -d '{"urls":[{"note":"the manual","tags":["-sql","+manual"]}]}'
  curl -u {{.User}}:{{.Key}} -X DELETE {{.Base}}/v3/urls/pg
{{else}}
  user name      {{.User}}
  API key        as printed on the first start
                 (./linkledger account rotate-key --username {{.User}}{{.Of}} makes a new one)
{{end}}
Ctrl-C stops everything; the data stays.
`))
