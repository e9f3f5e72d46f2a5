package everything

import (
	"context"
	"errors"

	"github.com/mcpyard/mcpyard/internal/mcp"
)

// inputTools ask the client for input. Nothing is kept between the rounds of a
// request: what has to stay goes to the client and comes back with its answers.
func inputTools() []mcp.ServerTool {
	const prefix = "test_input_required_result_"
	return []mcp.ServerTool{
		simple(prefix+"elicitation", "Asks the user for a name.", asks(nameForm())),
		simple(prefix+"sampling", "Asks the client's model a question.", asks(question())),
		simple(prefix+"list_roots", "Asks the client for its roots.", asks(mcp.ListRoots("roots"))),
		simple(prefix+"request_state", "Asks for a confirmation, and keeps something until it comes.", askWithState),
		simple(prefix+"tampered_state", "Asks for a confirmation, and takes back no other state than its own.", askWithState),
		simple(prefix+"multiple_inputs", "Asks for a name, an answer of the model and the roots, all at once.", askForAll),
		simple(prefix+"multi_round", "Asks for a name and then for a colour.", askTwice),
		simple(prefix+"capabilities", "Asks for whatever the client can answer.", askForWhatIsDeclared),
		simple("test_missing_capability", "Needs a client whose model can be asked.", asks(question())),
		simple("test_streaming_elicitation", "Reports progress, and then asks the user for a name.",
			func(ctx context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
				call.Progress(1, 2, "About to ask.")
				return asks(nameForm())(ctx, call)
			}),
	}
}

func nameForm() mcp.InputRequest {
	return mcp.Form("user_name", "What is your name?", mcp.Field{Name: "name", Type: mcp.TextField, Required: true})
}

func confirmation() mcp.InputRequest {
	return mcp.Form("confirm", "Shall this go on?", mcp.Field{Name: "ok", Type: mcp.BooleanField, Required: true})
}

func question() mcp.InputRequest {
	return mcp.Sample("capital", mcp.SamplingParams{
		Messages:  []mcp.Message{{Role: mcp.RoleUser, Content: mcp.TextContent("What is the capital of France?")}},
		MaxTokens: 100,
	})
}

// asks returns the function of a tool that is done once all is answered.
func asks(requests ...mcp.InputRequest) run {
	return func(_ context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
		if err := call.Input(requests...); err != nil {
			return nil, err
		}
		return text("All that was asked for has been answered."), nil
	}
}

// withState adds state to an error that asks for input.
func withState(err error, state string) error {
	if ask, ok := errors.AsType[*mcp.InputRequired](err); ok {
		ask.State = state
	}
	return err
}

func askWithState(_ context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	const state = "state-ok"
	if err := call.Input(confirmation()); err != nil {
		return nil, withState(err, state)
	}
	if call.RequestState != state {
		return text("Answered, but without the state that belongs to the question."), nil
	}
	return text("Answered, and the state came back: " + call.RequestState), nil
}

func askForAll(_ context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	if err := call.Input(nameForm(), question(), mcp.ListRoots("roots")); err != nil {
		return nil, withState(err, "asked for all")
	}
	return text("All three have been answered."), nil
}

func askTwice(_ context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	if err := call.Input(nameForm()); err != nil {
		return nil, withState(err, "asked for the name")
	}
	colour := mcp.Form("color", "Which colour do you like?", mcp.Field{Name: "color", Type: mcp.TextField, Required: true})
	if err := call.Input(colour); err != nil {
		return nil, withState(err, "asked for the colour")
	}
	return text("Both have been answered."), nil
}

// askForWhatIsDeclared asks for nothing that the client has not declared, and
// fails with what is missing if that is everything.
func askForWhatIsDeclared(ctx context.Context, call *mcp.Call) (*mcp.ToolResult, error) {
	var declared []mcp.InputRequest
	var missing error
	for _, request := range []mcp.InputRequest{nameForm(), question(), mcp.ListRoots("roots")} {
		if err := call.Require(request); err != nil {
			missing = err
			continue
		}
		declared = append(declared, request)
	}
	if len(declared) == 0 {
		return nil, missing
	}
	return asks(declared...)(ctx, call)
}

// inputPrompt is a prompt that asks as tools do.
func inputPrompt() mcp.ServerPrompt {
	const id = "prompt_context"
	return mcp.ServerPrompt{
		Prompt: mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks the user for its context."},
		Get: func(_ context.Context, call *mcp.Call, _ map[string]string) (*mcp.PromptResult, error) {
			form := mcp.Form(id, "What is it about?", mcp.Field{Name: "context", Type: mcp.TextField, Required: true})
			if err := call.Input(form); err != nil {
				return nil, err
			}
			answer, _ := call.InputResponses.Elicited(id)
			about, ok := mcp.Text(answer.Content["context"])
			if !ok {
				about = "nothing in particular"
			}
			return messages(mcp.TextContent("Let us talk about " + about + ".")), nil
		},
	}
}
