//! The request that a call is sent as: method, address, headers and body.

use super::auth::Token;
use super::call::Call;
use super::transport::Request;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use talentdata_types::Method;

impl Client {
    pub(super) fn request(&self, call: &Call, token: Option<&Token>) -> Result<Request> {
        let mut url = self.0.config.base_url.at(&call.path);
        for (name, value) in &call.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let method = match call.operation.method {
            Method::Get => http::Method::GET,
            Method::Head => http::Method::HEAD,
            Method::Options => http::Method::OPTIONS,
            Method::Put => http::Method::PUT,
            Method::Delete => http::Method::DELETE,
            Method::Post => http::Method::POST,
            Method::Patch => http::Method::PATCH,
            Method::Trace => http::Method::TRACE,
        };
        let body = Bytes::from(call.body.clone().unwrap_or_default());
        let request = http::Request::builder().method(method).uri(url.as_str());
        let json = HeaderValue::from_static("application/json");
        let mut request = request.body(body.into()).map_err(|_| {
            let message = "base_url must be usable as the address of a request";
            Error::new(ErrorKind::Config, message)
        })?;
        let headers = request.headers_mut();
        headers.extend(call.headers.clone());
        if call.body.is_some() {
            headers.insert(CONTENT_TYPE, json.clone());
        }
        headers.insert(ACCEPT, json);
        if let Some(token) = token {
            headers.insert(AUTHORIZATION, token.header.clone());
        }
        Ok(request)
    }
}
