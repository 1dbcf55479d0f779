"""This package holds the people of the admin: users, their rights, sessions and tokens, and the audit.

| module | content |
|---|---|
| `login` | `log_in` by name and password, with throttling; `log_out` |
| `sessions` | who sends a request, by the cookie; the sessions of a user |
| `invitations` | `first_invitation`, `accept_invitation`, `set_password` by a one-time link |
| `users`, `profile` | users as administrators see them, and everybody's own profile and password |
| `api_tokens` | tokens of programs |
| `openid`, `openid_login` | the protocol of OpenID Connect, and the user whom it names |
| `audit` | who changed what |
| `operations` | all of this that people and programs reach through the API |

Functions for those who are not logged in take a `Database`: they hash passwords, which takes a fifth of a second,
outside of any transaction. All other use cases take a `Transaction`. The package imports `models` alone.
"""
