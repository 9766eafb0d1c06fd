// Package apiclient is a client that oapi-codegen generates from the description of the API, as
// users generate theirs. Tests call the service with it.
package apiclient

// After a change of the description: go generate ./httpapi/internal/apiclient

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config oapi-codegen.yaml ../../openapi/openapi.json
//go:generate sh -c "sha256sum < ../../openapi/openapi.json > openapi.sha256"
