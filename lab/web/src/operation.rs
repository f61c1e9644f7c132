//! Operations of the API: declared beside their handlers, and described in OpenAPI 3.1.

use crate::problem::{Problem, ProblemBody};
use crate::query::{Parameter, Query, Takes};
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Maximum size of a body in bytes.
pub(crate) const MOST_BODY_BYTES: usize = 16 * 1024;

/// The schema of a type.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of `T`, for an [`Operation`].
pub(crate) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// An operation of the API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    /// Address below `/api/v1`, with the names of [`PARTS`] in braces.
    pub(crate) path: &'static str,
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    is_write: bool,
    /// JSON of the request, and an example.
    body: Option<(SchemaOf, &'static str)>,
    success: StatusCode,
    /// Alternatives of the answer; empty for an answer without a body.
    answers: &'static [SchemaOf],
    /// True if the header `Link` leads to further rows.
    is_linked: bool,
    /// Refusals in addition to those of every operation of its kind.
    refusals: &'static [(StatusCode, &'static str)],
}

impl Operation {
    /// An operation that reads.
    pub(crate) const fn get(path: &'static str, name: &'static str, summary: &'static str) -> Self {
        Operation {
            path,
            name,
            summary,
            parameters: &[],
            is_write: false,
            body: None,
            success: StatusCode::OK,
            answers: &[],
            is_linked: false,
            refusals: &[],
        }
    }

    /// An operation that writes, for readers with a token.
    pub(crate) const fn post(path: &'static str, name: &'static str, summary: &'static str) -> Self {
        Operation { is_write: true, ..Self::get(path, name, summary) }
    }

    /// With query parameters.
    pub(crate) const fn takes(self, parameters: &'static [Parameter]) -> Self {
        Operation { parameters, ..self }
    }

    /// With a body. `example` is the hint of refusals.
    pub(crate) const fn takes_body(self, schema: SchemaOf, example: &'static str) -> Self {
        Operation { body: Some((schema, example)), ..self }
    }

    /// With the schemas of its answer.
    pub(crate) const fn answers(self, answers: &'static [SchemaOf]) -> Self {
        Operation { answers, ..self }
    }

    /// With another status of success.
    pub(crate) const fn succeeds(self, success: StatusCode) -> Self {
        Operation { success, ..self }
    }

    /// With a `Link` to further rows.
    pub(crate) const fn linked(self) -> Self {
        Operation { is_linked: true, ..self }
    }

    /// With additional refusals.
    pub(crate) const fn refuses(self, refusals: &'static [(StatusCode, &'static str)]) -> Self {
        Operation { refusals, ..self }
    }

    /// Parses the query of a request. Fails on parameters that the operation does not take.
    pub(crate) fn query(&self, text: Option<&str>) -> Result<Query, Problem> {
        Query::parse(text, self.parameters)
    }

    /// The refusal of an invalid request, with the example of its body.
    pub(crate) fn invalid(&self, status: StatusCode, problem: &str) -> Problem {
        Problem::new(status, problem, self.body.map_or("", |(_, example)| example))
    }

    /// Parses the body of a request. Fails if it is not the JSON that the operation takes. JSON
    /// only: forms of other sites cannot send it.
    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        headers: &HeaderMap,
        body: Result<Bytes, BytesRejection>,
    ) -> Result<T, Problem> {
        let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(self.invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is not JSON"));
        }
        let body = body.map_err(|_| self.invalid(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long"))?;
        let parsed = serde_json::from_slice(&body);
        parsed.map_err(|_| self.invalid(StatusCode::BAD_REQUEST, "the body is not what this address takes"))
    }

    /// The operation in OpenAPI, with its refusals by status.
    fn describe(&self, answers: &mut SchemaGenerator, bodies: &mut SchemaGenerator) -> Value {
        let parts = PARTS.iter().filter(|part| self.path.contains(&format!("{{{}}}", part.name)));
        let parts: Vec<&Parameter> = parts.collect();
        let mut responses = Map::new();
        let mut success = json!({"description": "Success"});
        let mut schemas: Vec<Schema> = self.answers.iter().map(|schema| schema(answers)).collect();
        if let Some(first) = schemas.pop() {
            let schema = match schemas.is_empty() {
                true => json!(first),
                false => json!({"anyOf": schemas.into_iter().chain([first]).collect::<Vec<_>>()}),
            };
            success["content"] = json!({"application/json": {"schema": schema}});
        }
        if self.is_linked {
            let about = "Address of the following rows as `rel=\"next\"`; absent after the last rows";
            success["headers"] =
                json!({"Link": {"description": about, "required": false, "schema": {"type": "string"}}});
        }
        responses.insert(self.success.as_u16().to_string(), success);
        let refusal = json!({"application/json": {"schema": schema_of::<ProblemBody<'_>>(answers)}});
        let of_kind = ALWAYS.iter().chain(if self.is_write { WRITING } else { &[] });
        let of_body = if self.body.is_some() { OF_BODY } else { &[] };
        let of_parts = if parts.is_empty() { &[] } else { OF_PARTS };
        for (status, about) in of_kind.chain(of_body).chain(of_parts).chain(self.refusals) {
            let response = json!({"description": about, "content": refusal.clone()});
            responses.insert(status.as_u16().to_string(), response);
        }
        let parameters = parts.into_iter().map(|part| parameter("path", part));
        let parameters: Vec<Value> =
            parameters.chain(self.parameters.iter().map(|one| parameter("query", one))).collect();
        let mut described = json!({
            "operationId": self.name,
            "summary": self.summary,
            "parameters": parameters,
            "responses": responses,
        });
        if let Some((schema, _)) = self.body {
            described["requestBody"] = json!({
                "required": true,
                "content": {"application/json": {"schema": schema(bodies)}},
            });
        }
        described
    }
}

/// Variable parts of paths.
const PARTS: &[Parameter] = &[
    Parameter::integer("run", 1, i64::MAX, "Number of the run").required(),
    Parameter::integer("execution", 1, i64::MAX, "Number of the execution").required(),
    Parameter::integer("job", 1, i64::MAX, "Number of the job").required(),
    Parameter::text("history", "^[0-9a-f]{16}$", "Identifier of the history").required(),
    Parameter::text("commit", COMMIT, "Full name of the first commit with the new level: `by` of the change")
        .required(),
];

/// Regular expression of a commit's full name.
pub(crate) const COMMIT: &str = "^[0-9a-f]{40,64}$";

/// Refusals of every operation.
const ALWAYS: &[(StatusCode, &str)] = &[
    (StatusCode::BAD_REQUEST, "A parameter is unknown, repeated or out of bounds, or the body is invalid"),
    (StatusCode::UNAUTHORIZED, "The server needs a token"),
    (StatusCode::MISDIRECTED_REQUEST, "The server does not answer to the host name in the request"),
    (StatusCode::SERVICE_UNAVAILABLE, "The database cannot be read, or too many requests wait for it"),
    (StatusCode::GATEWAY_TIMEOUT, "The answer took too long"),
];

/// Refusals of writes.
const WRITING: &[(StatusCode, &str)] = &[
    (StatusCode::FORBIDDEN, "The request comes from a page of another site"),
    (StatusCode::METHOD_NOT_ALLOWED, "The server has no tokens, so it writes nothing"),
    (StatusCode::PAYLOAD_TOO_LARGE, "The body is too long"),
];

/// Refusals of operations with a body.
const OF_BODY: &[(StatusCode, &str)] = &[(StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is not JSON")];

/// Refusals of operations with variable parts of their path.
const OF_PARTS: &[(StatusCode, &str)] = &[(StatusCode::NOT_FOUND, "The object does not exist")];

/// A parameter in OpenAPI.
fn parameter(place: &str, of: &Parameter) -> Value {
    let schema = match of.takes {
        Takes::Integer(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Takes::Decimal(least, most) => json!({"type": "number", "minimum": least, "maximum": most}),
        Takes::Word(words) => json!({"type": "string", "enum": words}),
        Takes::Text(pattern) => json!({"type": "string", "pattern": pattern}),
    };
    json!({"name": of.name, "in": place, "description": of.about, "required": of.is_required, "schema": schema})
}

/// The description of operations, as JSON.
pub(crate) fn description(operations: &[Operation]) -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut answers = settings.clone().for_serialize().into_generator();
    let mut bodies = settings.for_deserialize().into_generator();
    let mut paths = Map::new();
    for operation in operations {
        let method = if operation.is_write { "post" } else { "get" };
        let described = operation.describe(&mut answers, &mut bodies);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[method] = described;
    }
    let mut schemas = answers.take_definitions(true);
    schemas.extend(bodies.take_definitions(true));
    let described = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Faultline",
            "version": "1",
            "description": "The contents of a Faultline database. All operations read, except those on states of changes and jobs.",
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Only if the server was started with `--token-file`",
                },
            },
        },
    });
    described.to_string()
}
