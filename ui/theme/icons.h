// SPDX-License-Identifier: GPL-3.0-or-later
// Icons of the workbench: monochrome SVGs of 24 px with one stroke width, tinted by the theme when
// painted.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

class QPainter;
class QRectF;

namespace trainyard::ui {

// Returns an icon by its file name in resources/icons, without ".svg". It follows the theme;
// checked icons use the accent color.
QIcon icon(const QString& name);

// Paints an icon in a given color.
void paint_icon(QPainter& painter, const QString& name, const QRectF& where, const QColor& color);

}  // namespace trainyard::ui
