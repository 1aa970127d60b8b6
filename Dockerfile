# retryd in an image of its own: one static binary and the certificates that public
# endpoints are checked against. docs/install.md shows how to run it.
FROM golang:1.26 AS build
WORKDIR /src
# Dependencies are a layer of their own, so that a change of the code does not fetch
# them again.
COPY go.mod go.sum ./
RUN go mod download
COPY cmd/retryd cmd/retryd
COPY internal internal
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /retryd ./cmd/retryd

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /retryd /retryd
# A number, so that an orchestrator can tell that it is not root.
USER 65532:65532
# Health and metrics are for the outside; the API answers only from inside, whatever
# the address. It wins over admin.listen of the file, and the health check follows it:
# to listen elsewhere, set it rather than empty it.
ENV RETRYD_ADMIN_LISTEN=0.0.0.0:9464
EXPOSE 9464
# Healthy is a process that makes progress, also one that waits for Kafka: a restart
# would not help. It asks where RETRYD_ADMIN_LISTEN says, and reads no file, whose place
# another command line may have changed.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/retryd", "healthcheck"]
ENTRYPOINT ["/retryd"]
CMD ["run", "--config", "/etc/retryd/retryd.yaml"]
