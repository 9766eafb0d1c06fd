package decode

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/go-playground/validator/v10"

	"linkledger/httpapi/apierror"
)

// validate checks that required fields are given and that numbers are in their ranges. Commands
// check all other rules about values.
var validate = newValidator()

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(field reflect.StructField) string { return field.Tag.Get("name") })
	return v
}

// Check refuses a payload that breaks the rules of its validate tags. In the details, path precedes
// the name of a field.
func Check(payload any, path string) error {
	err := validate.Struct(payload)
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[validator.ValidationErrors](err)
	if !ok {
		return fmt.Errorf("validate: %w", err)
	}
	name := path + wrong[0].Field()
	switch wrong[0].Tag() {
	case "required":
		return &apierror.Error{Code: apierror.CodeMissingInput, Details: name + " is missing"}
	case "min":
		return apierror.WrongInput("%s must be at least %s", name, wrong[0].Param())
	}
	return apierror.WrongInput("%s is wrong", name)
}
