/** The daemon demands its token. */

import { useSignal } from "@preact/signals";
import { login } from "./connection";
import { connection } from "./store";

export function Login() {
  const token = useSignal("");
  const error = useSignal("");
  const busy = useSignal(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    busy.value = true;
    const answer = await login(token.value);
    busy.value = false;
    error.value = answer.error ?? "";
    if (answer.status === "ok") connection.connect();
  };
  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <h1>motiond</h1>
        <label>Token <input type="password" name="token" autocomplete="current-password" required autofocus value={token.value} onInput={(event) => (token.value = event.currentTarget.value)} /></label>
        <button class="main" disabled={busy.value}>{busy.value ? "Being checked…" : "Log in"}</button>
        <p class="hint">It is the first line of the file that http.token_file names.</p>
        {error.value && <p class="bad" role="alert">{error.value}</p>}
      </form>
    </main>
  );
}
