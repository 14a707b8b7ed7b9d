// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/plot_export.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QSvgGenerator>
#include <cmath>
#include <cstdio>

#include "core/base/file.h"
#include "core/base/units.h"
#include "ui/charts/plot_view.h"

namespace trainyard::ui {
namespace {

std::string quoted(const QString& text) {
  return '"' + QString(text).replace('"', QLatin1String("\"\"")).toStdString() + '"';
}

std::string exact(double value) { return base::number_text(value, "%.17g"); }

std::string png_of(PlotView& view) {
  constexpr double kRatio = 2;  // resolution for print and projector
  QImage image(view.full_size() * kRatio, QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(kRatio);
  QPainter painter(&image);
  view.render_full(painter, QRectF(QPointF(), view.full_size()));
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return bytes.toStdString();
}

std::string svg_of(PlotView& view) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(view.full_size());
  generator.setViewBox(QRect(QPoint(), view.full_size()));
  generator.setTitle(view.title());
  QPainter painter(&generator);
  view.render_full(painter, QRectF(QPointF(), view.full_size()));
  painter.end();
  return bytes.toStdString();
}

}  // namespace

std::string csv_of(const PlotModel& model, const QString& counts) {
  std::string csv = "series," + counts.toStdString() + ",value\n";
  for (const auto& series : model.series())
    for (std::size_t i = 0; i < series->points.size(); ++i)
      csv += quoted(series->style.label) + "," + exact(series->points.at(i).step) + "," +
             exact(series->points.at(i).value) + "\n";
  return csv;
}

// Returns the points as CSV. The column of simulated time is empty if simulated time was not
// requested.
std::string csv_of(const PlotModel& model) {
  std::string csv = "series,step,samples,bytes,seconds,simulated_seconds,value\n";
  for (const auto& series : model.series()) {
    const std::string name = quoted(series->style.label);
    for (std::size_t i = 0; i < series->points.size(); ++i) {
      const SeriesPoint point = series->points.at(i);
      csv += name;
      for (const double cell : {point.step, point.samples, point.bytes, point.seconds})
        csv += "," + exact(cell);
      csv += "," + (std::isnan(point.simulated) ? "" : exact(point.simulated)) + "," +
             exact(point.value) + "\n";
    }
  }
  return csv;
}

base::Result<void> save_plot(PlotView& view, const QString& file) {
  const std::string path = file.toStdString();
  if (file.endsWith(".png", Qt::CaseInsensitive))
    return base::write_file_atomically(path, png_of(view));
  if (file.endsWith(".svg", Qt::CaseInsensitive))
    return base::write_file_atomically(path, svg_of(view));
  if (file.endsWith(".csv", Qt::CaseInsensitive))
    return base::write_file_atomically(
        path, view.counts().isEmpty() ? csv_of(view.model()) : csv_of(view.model(), view.counts()));
  return base::fail({"unknown_format", base::ProblemCode::bad_input, path,
                     "unsupported chart file format", ".png, .svg, .csv",
                     "Use an accepted suffix."});
}

}  // namespace trainyard::ui
